{{/* Parts of weir.check, each a JSON list of errors. */}}

{{/* Errors of listeners and of the Service for clients. */}}
{{- define "weir.portErrors" -}}
{{- $errors := list -}}
{{- $listeners := fromYaml (include "weir.listeners" .) -}}
{{- if and $listeners.redirect (empty (dig "http" "tls" dict $listeners)) -}}
{{- $errors = append $errors "config.listen.redirect is set, but there is no https to send clients to: add tls to config.listen.http" -}}
{{- end -}}
{{- $containerPorts := dict -}}
{{- range $name, $listener := $listeners -}}
{{- $port := toString $listener.port -}}
{{- with get $containerPorts $port -}}
{{- $errors = append $errors (printf "config.listen.%s and config.listen.%s have the same port, %s: give each one of its own" . $name $port) -}}
{{- end -}}
{{- $_ := set $containerPorts $port $name -}}
{{- end -}}
{{- $servicePorts := dict -}}
{{- $written := dict "port" (include "weir.clientPort" .) -}}
{{- if $listeners.redirect -}}
{{- $_ := set $written "redirectPort" (.Values.service.redirectPort | default 80) -}}
{{- end -}}
{{- if $listeners.grpc -}}
{{- $_ := set $written "grpcPort" (.Values.service.grpcPort | default $listeners.grpc.port) -}}
{{- end -}}
{{- range $name, $number := $written -}}
{{- $port := int $number | toString -}}
{{- with get $servicePorts $port -}}
{{- $errors = append $errors (printf "service.%s and service.%s are both %s: give each a port of its own" . $name $port) -}}
{{- end -}}
{{- $_ := set $servicePorts $port $name -}}
{{- end -}}
{{- $nodePorts := dict -}}
{{- range $name := list "nodePort" "redirectNodePort" "grpcNodePort" -}}
{{- with get $.Values.service $name -}}
{{- if eq $.Values.service.type "ClusterIP" -}}
{{- $errors = append $errors (printf "service.%s needs service.type: NodePort or LoadBalancer" $name) -}}
{{- end -}}
{{- $port := int . | toString -}}
{{- with get $nodePorts $port -}}
{{- $errors = append $errors (printf "service.%s and service.%s are both %s: give each a port of its own" . $name $port) -}}
{{- end -}}
{{- $_ := set $nodePorts $port $name -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of the routes of the Gateway API. */}}
{{- define "weir.routeErrors" -}}
{{- $errors := list -}}
{{- $listeners := fromYaml (include "weir.listeners" .) -}}
{{- if and .Values.grpcRoute.enabled (not $listeners.grpc) -}}
{{- $errors = append $errors "grpcRoute.enabled is true, but nothing listens for gRPC: set config.listen.grpc, such as \"[::]:8081\"" -}}
{{- end -}}
{{- range $name := list "httpRoute" "grpcRoute" "tlsRoute" -}}
{{- $route := get $.Values $name -}}
{{- if and $route.enabled (empty $route.parentRefs) -}}
{{- $errors = append $errors (printf "%s.parentRefs is missing: name the Gateway, such as [{ name: public, namespace: gateways }]" $name) -}}
{{- end -}}
{{- range $key := list "matches" "filters" "timeouts" -}}
{{- if and $route.rules (get $route $key) -}}
{{- $errors = append $errors (printf "%s has rules and %s: write the %s into the rules" $name $key $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of what sets the number of pods. */}}
{{- define "weir.scalingErrors" -}}
{{- $errors := list -}}
{{- $autoscaling := .Values.autoscaling -}}
{{- if $autoscaling.enabled -}}
{{- if and $autoscaling.cpuPercent (not (dig "requests" "cpu" "" (.Values.resources | default dict))) -}}
{{- $errors = append $errors "autoscaling.enabled is true, but resources.requests.cpu is missing: autoscaling.cpuPercent is a share of it, so nothing would ever scale" -}}
{{- end -}}
{{- if not (or $autoscaling.cpuPercent $autoscaling.requestsInFlight $autoscaling.metrics) -}}
{{- $errors = append $errors "autoscaling.enabled is true, but nothing says when to scale: set cpuPercent, requestsInFlight or metrics" -}}
{{- end -}}
{{- if $autoscaling.scaler -}}
{{- $errors = append $errors (printf "autoscaling.enabled is true and autoscaling.scaler is %s: two would set the number of pods, so keep one" $autoscaling.scaler) -}}
{{- end -}}
{{- if gt (int ($autoscaling.minReplicas | default 1)) (int $autoscaling.maxReplicas) -}}
{{- $errors = append $errors (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, %d" (int ($autoscaling.minReplicas | default 1)) (int $autoscaling.maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if eq (include "weir.kind" .) "DaemonSet" -}}
{{- if or $autoscaling.enabled $autoscaling.scaler -}}
{{- $errors = append $errors "kind is DaemonSet, whose pods are as many as the nodes: leave autoscaling out" -}}
{{- end -}}
{{- if eq (toString .Values.strategy.type) "Recreate" -}}
{{- $errors = append $errors "strategy.type is Recreate, which a DaemonSet does not know: write RollingUpdate or OnDelete" -}}
{{- end -}}
{{- $rolling := .Values.strategy.rollingUpdate -}}
{{- $none := "^0%?$" -}}
{{- if eq .Values.strategy.type "RollingUpdate" -}}
{{- if not (or (regexMatch $none (toString $rolling.maxSurge)) (regexMatch $none (toString $rolling.maxUnavailable))) -}}
{{- $errors = append $errors "strategy.rollingUpdate has maxSurge and maxUnavailable, but a DaemonSet takes one: set the other to 0" -}}
{{- end -}}
{{- if and .Values.hostNetwork (not (regexMatch $none (toString $rolling.maxSurge))) -}}
{{- $errors = append $errors "hostNetwork is true, so that no second pod finds its ports free on a node: set strategy.rollingUpdate to { maxSurge: 0, maxUnavailable: 1 }" -}}
{{- end -}}
{{- end -}}
{{- else if eq (toString .Values.strategy.type) "OnDelete" -}}
{{- $errors = append $errors "strategy.type is OnDelete, which a Deployment does not know: write RollingUpdate or Recreate" -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of what needs TLS in the gateway. */}}
{{- define "weir.tlsErrors" -}}
{{- $errors := list -}}
{{- $listeners := fromYaml (include "weir.listeners" .) -}}
{{- if .Values.tlsRoute.enabled -}}
{{- if empty (dig "http" "tls" dict $listeners) -}}
{{- $errors = append $errors "tlsRoute.enabled is true, but the gateway speaks no TLS: add tls to config.listen.http, or use httpRoute" -}}
{{- end -}}
{{- if empty .Values.tlsRoute.hostnames -}}
{{- $errors = append $errors "tlsRoute.hostnames is missing: a TLSRoute knows its requests by these names only" -}}
{{- end -}}
{{- end -}}
{{- $policy := .Values.backendTLSPolicy -}}
{{- if $policy.enabled -}}
{{- if and (empty (dig "http" "tls" dict $listeners)) (empty (dig "grpc" "tls" dict $listeners)) -}}
{{- $errors = append $errors "backendTLSPolicy.enabled is true, but the gateway speaks no TLS: add tls to config.listen.http or config.listen.grpc" -}}
{{- end -}}
{{- if empty $policy.hostname -}}
{{- $errors = append $errors "backendTLSPolicy.hostname is missing: write the name that the certificates in config.listen are for" -}}
{{- end -}}
{{- if eq (empty $policy.caCertificateRefs) (empty $policy.wellKnownCACertificates) -}}
{{- $errors = append $errors "backendTLSPolicy needs one of caCertificateRefs, such as [{ name: internal-ca }], and wellKnownCACertificates: System" -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of the values of alerts. */}}
{{- define "weir.alertErrors" -}}
{{- $errors := list -}}
{{- $alerts := .Values.alerts -}}
{{- $names := list -}}
{{- range (.Files.Get "files/alerts.yaml" | fromYaml).groups -}}
{{- range .rules -}}
{{- $names = append $names .alert -}}
{{- end -}}
{{- end -}}
{{- range $alerts.disabled -}}
{{- if not (has . $names) -}}
{{- $errors = append $errors (printf "alerts.disabled has %s, which is no alert of the chart: see docs/alerts.md" .) -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := $alerts.rules -}}
{{- if not (has $name $names) -}}
{{- $errors = append $errors (printf "alerts.rules has %s, which is no alert of the chart: see docs/alerts.md" $name) -}}
{{- end -}}
{{- end -}}
{{- if ge (float64 ($alerts.thresholds.certificateDaysSoon | default 3)) (float64 ($alerts.thresholds.certificateDays | default 14)) -}}
{{- $errors = append $errors "alerts.thresholds.certificateDaysSoon has to be less than certificateDays" -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of the grace period, the strategy and NODE_OPTIONS. */}}
{{- define "weir.podErrors" -}}
{{- $errors := list -}}
{{- $shutdown := (fromYaml (include "weir.config" .)).shutdown -}}
{{- $variables := list -}}
{{- range $name := list "delay" "drain" -}}
{{- if contains "$" (get $shutdown $name | default "") -}}
{{- $variables = append $variables $name -}}
{{- end -}}
{{- end -}}
{{- $needed := include "weir.shutdownSeconds" . | int64 -}}
{{- $grace := .Values.terminationGracePeriodSeconds | int64 -}}
{{- if not $grace -}}
{{- range $variables -}}
{{- $errors = append $errors (printf "config.shutdown.%s is a variable: set terminationGracePeriodSeconds as well" .) -}}
{{- end -}}
{{- else if and (empty $variables) (lt $grace $needed) -}}
{{- $errors = append $errors (printf "terminationGracePeriodSeconds is %d, but preStopSleepSeconds and config.shutdown take %d s, so Kubernetes would kill requests in flight: leave it out or write at least %d" $grace $needed (add $needed 5)) -}}
{{- end -}}
{{- if and (hasKey (.Values.lifecycle | default dict) "preStop") .Values.preStopSleepSeconds -}}
{{- $errors = append $errors "lifecycle has preStop, and preStopSleepSeconds is set: keep one" -}}
{{- end -}}
{{- $rolling := .Values.strategy.rollingUpdate -}}
{{- if and (not (has .Values.strategy.type (list "Recreate" "OnDelete"))) (regexMatch "^0%?$" (toString $rolling.maxSurge)) (regexMatch "^0%?$" (toString $rolling.maxUnavailable)) -}}
{{- $errors = append $errors "strategy.rollingUpdate has 0 as maxSurge and as maxUnavailable: no pod could ever be replaced, so raise one" -}}
{{- end -}}
{{- range .Values.env -}}
{{- if and (eq .name "NODE_OPTIONS") (include "weir.nodeOptions" (list $ $.Values.resources)) -}}
{{- $errors = append $errors "env has NODE_OPTIONS, which the chart writes itself for the heap limit: put its options into nodeOptions" -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of resources and checkResources. */}}
{{- define "weir.resourceErrors" -}}
{{- $errors := list -}}
{{- range $key := list "resources" "checkResources" -}}
{{- $resources := get $.Values $key | default dict -}}
{{- $malformed := false -}}
{{- range $part := list "requests" "limits" -}}
{{- range $name, $quantity := get $resources $part | default dict -}}
{{- $examples := eq $name "cpu" | ternary "500m or 1" "1Gi or 512M" -}}
{{- if and (not (kindIs "invalid" $quantity)) (not (regexMatch "^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+|[mkMGTPE]|[KMGTPE]i)?$" (toString $quantity))) -}}
{{- $malformed = true -}}
{{- $errors = append $errors (printf "%s.%s.%s is %q, which is not a quantity, such as %s" $key $part $name (toString $quantity) $examples) -}}
{{- else if not (regexMatch "^(cpu|memory|ephemeral-storage|hugepages-.+|.+/.+)$" $name) -}}
{{- $errors = append $errors (printf "%s.%s.%s: Kubernetes knows cpu, memory and ephemeral-storage" $key $part $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $malformed -}}
{{- $limit := include "weir.memoryLimit" $resources | int64 -}}
{{- $needs := eq $key "resources" | ternary "a gateway takes up to 160 MiB before its first request" "the check takes up to 160 MiB" -}}
{{- if and $limit (lt $limit 163840) -}}
{{- $errors = append $errors (printf "%s.limits.memory is %s, but %s, so its pods would be killed: write at least 192Mi, better 1Gi" $key (toString $resources.limits.memory) $needs) -}}
{{- end -}}
{{- range $name, $most := $resources.limits | default dict -}}
{{- $asked := get ($resources.requests | default dict) $name -}}
{{- if and $most $asked (gt (include "weir.number" (toString $asked) | float64) (include "weir.number" (toString $most) | float64)) -}}
{{- $errors = append $errors (printf "%s.requests.%s is %s, more than %s.limits.%s, %s" $key $name (toString $asked) $key $name (toString $most)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Names of containers, and names and places of volumes, that would be there twice, or nowhere. */}}
{{- define "weir.volumeErrors" -}}
{{- $errors := list -}}
{{- $names := dict "config" "the chart's" -}}
{{- $places := dict "/etc/weir" "the chart's" -}}
{{- range $name, $_ := .Values.secrets -}}
{{- $_ := set $names (printf "secret-%s" $name) (printf "made of secrets.%s" $name) -}}
{{- $_ := set $places (printf "/run/secrets/%s" $name) (printf "of secrets.%s" $name) -}}
{{- end -}}
{{- range $volume := .Values.volumes -}}
{{- with get $names $volume.name -}}
{{- $errors = append $errors (printf "volumes has a second %s: the other is %s" $volume.name .) -}}
{{- end -}}
{{- $_ := set $names $volume.name "in volumes as well" -}}
{{- end -}}
{{- range $mount := .Values.volumeMounts -}}
{{- with get $places (trimSuffix "/" .mountPath) -}}
{{- $errors = append $errors (printf "volumeMounts has a second %s: the other is %s" $mount.mountPath .) -}}
{{- end -}}
{{- $_ := set $places (trimSuffix "/" .mountPath) "in volumeMounts as well" -}}
{{- if not (hasKey $names .name) -}}
{{- $errors = append $errors (printf "volumeMounts names %s, which is not in volumes" .name) -}}
{{- end -}}
{{- end -}}
{{- $containers := dict "check" "the chart's" "weir" "the chart's" -}}
{{- range $value := list "initContainers" "sidecars" -}}
{{- range $container := index $.Values $value -}}
{{- with get $containers $container.name -}}
{{- $errors = append $errors (printf "%s has a second %s: the other is %s" $value $container.name .) -}}
{{- end -}}
{{- $_ := set $containers $container.name (printf "in %s" $value) -}}
{{- range $container.volumeMounts -}}
{{- if not (hasKey $names .name) -}}
{{- $errors = append $errors (printf "%s: %s mounts %s, which is not in volumes" $value $container.name .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of the folder of state. It has to outlive a container, and one gateway uses it at a time. */}}
{{- define "weir.stateErrors" -}}
{{- $errors := list -}}
{{- $state := (fromYaml (include "weir.config" .)).state -}}
{{- with kindIs "map" $state | ternary (get (kindIs "map" $state | ternary $state dict) "folder") $state -}}
{{- $folder := clean (hasPrefix "/" (toString .) | ternary (toString .) (printf "/etc/weir/%s" .)) -}}
{{- $name := "" -}}
{{- range $mount := $.Values.volumeMounts -}}
{{- if hasPrefix (printf "%s/" (trimSuffix "/" $mount.mountPath)) (printf "%s/" $folder) -}}
{{- $name = $mount.name -}}
{{- if $mount.readOnly -}}
{{- $errors = append $errors (printf "volumeMounts: %s is readOnly, but config.state is written to %s" $name $folder) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $name -}}
{{- $errors = append $errors (printf "config.state is %s, where nothing can be written that outlives the container: add volumes: [{ name: state, emptyDir: {} }] and volumeMounts: [{ name: state, mountPath: %s }]" $folder $folder) -}}
{{- end -}}
{{- range $volume := $.Values.volumes -}}
{{- if and (eq $volume.name $name) (or $volume.persistentVolumeClaim $volume.hostPath $volume.nfs) -}}
{{- $ofNode := and $volume.hostPath (eq (include "weir.kind" $) "DaemonSet") -}}
{{- if and $ofNode (ne (toString $.Values.strategy.type) "OnDelete") (not (regexMatch "^0%?$" (toString $.Values.strategy.rollingUpdate.maxSurge))) -}}
{{- $errors = append $errors (printf "config.state is on the volume %s, which the old pod of a node still uses while a new one starts: set strategy.rollingUpdate to { maxSurge: 0, maxUnavailable: 1 }" $name) -}}
{{- else if not $ofNode -}}
{{- if or $.Values.autoscaling.enabled (ne (include "weir.replicas" $) "1") -}}
{{- $errors = append $errors (printf "config.state is on the volume %s, which several pods would share, but one gateway uses a folder: take an emptyDir, or replicas: 1" $name) -}}
{{- end -}}
{{- if ne (toString $.Values.strategy.type) "Recreate" -}}
{{- $errors = append $errors (printf "config.state is on the volume %s, which the old pod still uses while a new one starts, so the new one would keep nothing: set strategy.type: Recreate, or take an emptyDir" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}

{{/* Labels and annotations that the chart sets itself: a second one would be a duplicate key. */}}
{{- define "weir.reservedErrors" -}}
{{- $errors := list -}}
{{- $pods := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- $objects := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" -}}
{{- $reserved := dict
  "podLabels" (list .Values.podLabels $pods)
  "commonLabels" (list .Values.commonLabels (concat $objects $pods | uniq))
  "service.labels" (list .Values.service.labels $objects)
  "adminService.labels" (list .Values.adminService.labels (append $objects "app.kubernetes.io/component"))
  "httpRoute.labels" (list .Values.httpRoute.labels $objects)
  "grpcRoute.labels" (list .Values.grpcRoute.labels $objects)
  "tlsRoute.labels" (list .Values.tlsRoute.labels $objects)
  "backendTLSPolicy.labels" (list .Values.backendTLSPolicy.labels $objects)
  "ingress.labels" (list .Values.ingress.labels $objects)
  "metrics.labels" (list .Values.metrics.labels $objects)
  "alerts.labels" (list .Values.alerts.labels $objects)
  "dashboard.labels" (list .Values.dashboard.labels $objects)
  "podAnnotations" (list .Values.podAnnotations (list "checksum/restart-keys"))
  "commonAnnotations" (list .Values.commonAnnotations (list "checksum/restart-keys"))
  "service.spec" (list .Values.service.spec (list "type" "selector" "ports"))
  "adminService.spec" (list .Values.adminService.spec (list "type" "selector" "ports"))
-}}
{{- range $value, $pair := $reserved -}}
{{- $written := index $pair 0 | default dict -}}
{{- range $key := index $pair 1 -}}
{{- if hasKey $written $key -}}
{{- $errors = append $errors (printf "%s has %s, which the chart sets itself: leave it out" $value $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $errors -}}
{{- end -}}
