{{/* Ends with every error of the values that the schema cannot express. */}}
{{- define "weir.check" -}}
{{- $errors := list -}}
{{- $config := fromYaml (include "weir.config" .) -}}
{{- $listeners := fromYaml (include "weir.listeners" .) -}}
{{- if empty .Values.image.repository -}}
{{- $errors = append $errors "image.repository is missing: no image is published, so build one, push it and name it here (docs/kubernetes.md)" -}}
{{- end -}}
{{- with regexFind "[:@][^:@/]*$" (toString .Values.image.repository) -}}
{{- if hasPrefix "@" . -}}
{{- $errors = append $errors (printf "image.repository has a digest, %s: put it into image.digest" (trimPrefix "@" .)) -}}
{{- else if contains "@" $.Values.image.repository -}}
{{- $errors = append $errors "image.repository has a digest: put it, with its sha256:, into image.digest" -}}
{{- else -}}
{{- $errors = append $errors (printf "image.repository has a tag, %s: put it into image.tag" (trimPrefix ":" .)) -}}
{{- end -}}
{{- else -}}
{{- if not (regexMatch "^$|^([a-zA-Z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" (default "" .Values.image.repository)) -}}
{{- $errors = append $errors (printf "image.repository is %q: write host/path in lower case, without https://, such as registry.example.com/weir" .Values.image.repository) -}}
{{- end -}}
{{- end -}}
{{- $existing := .Values.existingConfigMaps -}}
{{- if $existing.gateway -}}
{{- range $key := without (keys (.Values.config | default dict) | sortAlpha) "listen" "shutdown" "store" -}}
{{- $errors = append $errors (printf "config.%s has no effect, since gateway.yaml comes from the ConfigMap %s: write it there. Only listen, shutdown and store say here what the chart has to know" $key $existing.gateway) -}}
{{- end -}}
{{- else -}}
{{- if empty $config.upstreams -}}
{{- $errors = append $errors "config.upstreams is missing: name what to forward to, such as { api: { url: http://api.default.svc:3000 } }" -}}
{{- end -}}
{{- if empty $config.routes -}}
{{- $errors = append $errors "config.routes is missing: say which requests go where, such as [{ path: /v1/**, upstream: api }]" -}}
{{- end -}}
{{- if empty $config.trusted_proxies -}}
{{- $errors = append $errors "config.trusted_proxies is missing: list the networks of the proxies in front of the pods, such as those of the ingress controller, or write none if clients connect directly; otherwise all clients of a proxy count as one address" -}}
{{- end -}}
{{- end -}}
{{- if and $existing.limits .Values.limits -}}
{{- $errors = append $errors (printf "limits has no effect, since limits.yaml comes from the ConfigMap %s: write it there" $existing.limits) -}}
{{- end -}}
{{- $autoscaling := .Values.autoscaling -}}
{{- $replicas := include "weir.replicas" . -}}
{{- if not (or (kindIs "map" $config.store) .Values.limitsPerReplica) -}}
{{- if not (or $autoscaling.enabled $replicas) -}}
{{- $who := empty $autoscaling.scaler | ternary "replicas is null" (printf "autoscaling.scaler is %s" $autoscaling.scaler) -}}
{{- $who = eq (include "weir.kind" .) "DaemonSet" | ternary "kind is DaemonSet" $who -}}
{{- $errors = append $errors (printf "%s, so there may be several pods, but each would count limits alone: name a Redis in config.store.redis, or accept that N pods allow up to N times each limit with limitsPerReplica: true" $who) -}}
{{- else -}}
{{- $most := $autoscaling.enabled | ternary $autoscaling.maxReplicas $replicas | int -}}
{{- if gt $most 1 -}}
{{- $key := $autoscaling.enabled | ternary "autoscaling.maxReplicas" "replicas" -}}
{{- $errors = append $errors (printf "%s is %d, but each pod would count limits alone: name a Redis in config.store.redis, or accept up to %d times each limit with limitsPerReplica: true" $key $most $most) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $redis := kindIs "map" $config.store | ternary $config.store dict -}}
{{- if regexMatch "^[^/]*//[^/@]*:.*@" (toString $redis.redis) -}}
{{- $errors = append $errors "config.store.redis contains a password, which everyone who reads the ConfigMap would see: put it into a Secret under secrets, and its path into config.store.password_file" -}}
{{- end -}}
{{- if hasKey (.Values.config | default dict) "limits" -}}
{{- $errors = append $errors "config.limits is the chart's: put the content of limits.yaml into the value limits" -}}
{{- end -}}
{{- range $name, $listener := $listeners -}}
{{- if not $listener.port -}}
{{- $errors = append $errors (printf "config.listen.%s is %q: the chart needs its port, such as \"[::]:8080\"" $name $listener.address) -}}
{{- else if regexMatch "^(localhost|127\\.|\\[::1\\])" $listener.address -}}
{{- $errors = append $errors (printf "config.listen.%s is %q, which no other pod and no probe can reach: write \"[::]:%d\"" $name $listener.address (int $listener.port)) -}}
{{- end -}}
{{- end -}}
{{- if not $listeners.admin -}}
{{- $errors = append $errors "config.listen.admin is off, but probes need it: leave it out" -}}
{{- else if dig "tls" "client_certificates" false $listeners.admin -}}
{{- if dig "tls" "client_certificates" "required" true $listeners.admin -}}
{{- $errors = append $errors "config.listen.admin.tls.client_certificates is required, but the kubelet's probes have no certificate: set required: false there" -}}
{{- end -}}
{{- end -}}
{{- if and (ne (.Values.metrics.monitor | default "none") "none") .Values.networkPolicy.enabled (empty .Values.networkPolicy.admin) -}}
{{- $errors = append $errors (printf "metrics.monitor is %s, but networkPolicy.admin admits nobody: name Prometheus there, such as [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: monitoring } } }]" .Values.metrics.monitor) -}}
{{- end -}}
{{- range $more := list "weir.scalingErrors" "weir.portErrors" "weir.routeErrors" "weir.tlsErrors" "weir.alertErrors" "weir.podErrors" "weir.resourceErrors" "weir.volumeErrors" "weir.stateErrors" "weir.reservedErrors" -}}
{{- $errors = concat $errors (include $more $ | fromJsonArray) -}}
{{- end -}}
{{- with $errors -}}
{{- fail (printf "\n\nThe values have errors:\n\n- %s\n" (join "\n- " .)) -}}
{{- end -}}
{{- end -}}
