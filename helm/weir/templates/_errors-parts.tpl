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
{{- toJson $errors -}}
{{- end -}}

{{/* Errors of the grace period, the memory limit and NODE_OPTIONS. */}}
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
{{- $memory := include "weir.memoryQuantity" . -}}
{{- if not (regexMatch "^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+|[mkMGTPE]|[KMGTPE]i)?$" $memory) -}}
{{- $errors = append $errors (printf "resources.limits.memory is %q: the chart takes the heap limit from it and needs a quantity, such as 1Gi or 512M" $memory) -}}
{{- end -}}
{{- range .Values.env -}}
{{- if and (eq .name "NODE_OPTIONS") (include "weir.nodeOptions" $) -}}
{{- $errors = append $errors "env has NODE_OPTIONS, which the chart writes itself for the heap limit: put its options into nodeOptions" -}}
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
  "metrics.labels" (list .Values.metrics.labels $objects)
  "alerts.labels" (list .Values.alerts.labels $objects)
  "dashboard.labels" (list .Values.dashboard.labels $objects)
  "podAnnotations" (list .Values.podAnnotations (list "checksum/restart-keys"))
  "commonAnnotations" (list .Values.commonAnnotations (list "checksum/restart-keys"))
  "service.spec" (list .Values.service.spec (list "type" "selector" "ports"))
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
