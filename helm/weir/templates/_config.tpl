{{/* gateway.yaml: config, and what the chart adds. */}}
{{- define "weir.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $listen := default dict $config.listen -}}
{{- if not (hasKey $listen "admin") -}}
{{- $_ := set $listen "admin" "[::]:9090" -}}
{{- end -}}
{{- $shutdown := default dict $config.shutdown -}}
{{- if not (hasKey $shutdown "delay") -}}
{{- $_ := set $shutdown "delay" "5s" -}}
{{- end -}}
{{- if not (hasKey $config "warm_up") -}}
{{- $_ := set $config "warm_up" "500ms" -}}
{{- end -}}
{{- range $key, $value := dict "listen" $listen "shutdown" $shutdown "limits" "limits.yaml" -}}
{{- $_ := set $config $key $value -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The listeners that are on, by name: { address, port, tls, proxyProtocol }. */}}
{{- define "weir.listeners" -}}
{{- $listen := (fromYaml (include "weir.config" .)).listen -}}
{{- $found := dict -}}
{{- range $name := list "http" "redirect" "grpc" "admin" -}}
{{- $written := get $listen $name | default (eq $name "http" | ternary "[::]:8080" "off") -}}
{{- $map := kindIs "map" $written | ternary $written (dict "address" $written) -}}
{{- if ne $map.address "off" -}}
{{- $port := regexFind "[0-9]+$" $map.address | int -}}
{{- $_ := set $found $name (dict "address" $map.address "port" $port "tls" (default dict $map.tls) "proxyProtocol" $map.proxy_protocol) -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* Changes with the keys of gateway.yaml that take effect after a restart, and with no others. */}}
{{- define "weir.restartKeys" -}}
{{- $config := fromYaml (include "weir.config" .) -}}
{{- $addresses := dict -}}
{{- range $name, $listener := fromYaml (include "weir.listeners" .) -}}
{{- $_ := set $addresses $name $listener.address -}}
{{- end -}}
{{- $keys := dict "listen" $addresses "limit_keys" (dig "caps" "limit_keys" "" $config) "store" (default "memory" $config.store) "warm_up" $config.warm_up -}}
{{- if ne (toString (default 1 $config.workers)) "1" -}}
{{- $_ := set $keys "workers" $config.workers -}}
{{- end -}}
{{- if $config.state -}}
{{- $_ := set $keys "state" $config.state -}}
{{- end -}}
{{- $limits := kindIs "map" .Values.limits | ternary .Values.limits dict -}}
{{- if and $limits.ipv6_prefix (ne (int $limits.ipv6_prefix) 64) -}}
{{- $_ := set $keys "ipv6_prefix" (int $limits.ipv6_prefix) -}}
{{- end -}}
{{- if $limits.nat64_prefixes -}}
{{- $_ := set $keys "nat64_prefixes" $limits.nat64_prefixes -}}
{{- end -}}
{{- $tracing := kindIs "map" $config.tracing | ternary $config.tracing dict -}}
{{- if and $tracing.export (ne (toString $tracing.export) "off") -}}
{{- $_ := set $keys "tracing.export" $tracing.export -}}
{{- end -}}
{{- toJson $keys | sha256sum -}}
{{- end -}}

{{/* A time of gateway.yaml in whole seconds, rounded up. */}}
{{- define "weir.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- if hasSuffix "ms" . }}{{ div (add $number 999) 1000 }}
{{- else if hasSuffix "s" . }}{{ $number }}
{{- else if hasSuffix "m" . }}{{ mul $number 60 }}
{{- else }}{{ mul $number 3600 }}
{{- end -}}
{{- end -}}

{{/* From the request to end until the gateway stops waiting for requests in flight. */}}
{{- define "weir.shutdownSeconds" -}}
{{- $shutdown := (fromYaml (include "weir.config" .)).shutdown -}}
{{- $delay := include "weir.seconds" $shutdown.delay -}}
{{- $drain := include "weir.seconds" (default "25s" $shutdown.drain) -}}
{{- add $delay $drain .Values.preStopSleepSeconds -}}
{{- end -}}

{{/* Until SIGKILL: the whole shutdown, and some seconds to exit. */}}
{{- define "weir.gracePeriod" -}}
{{- .Values.terminationGracePeriodSeconds | default (add (include "weir.shutdownSeconds" .) 5) -}}
{{- end -}}

{{/* The memory limit of resources in KiB; 0: none. */}}
{{- define "weir.memoryLimit" -}}
{{- divf (include "weir.number" (dig "limits" "memory" "0" (. | default dict) | default "0" | toString)) 1024 | int64 -}}
{{- end -}}

{{/* The number that a quantity means, of one that weir.resourceErrors takes. */}}
{{- define "weir.number" -}}
{{- $quantity := . -}}
{{- $decimal := dict "" 1 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- $binary := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $unit := regexFind "[A-Za-z]*$" $quantity -}}
{{- $perUnit := hasKey $binary $unit | ternary (get $binary $unit) (get $decimal $unit | default 0) -}}
{{- mulf (trimSuffix $unit $quantity | float64) $perUnit | printf "%f" -}}
{{- end -}}

{{/* Node.js would take its heap limit from the memory of the node or of the pod, whole. The image's own options are repeated: this replaces them. Root context, and the resources. */}}
{{- define "weir.nodeOptions" -}}
{{- $values := (index . 0).Values -}}
{{- $limit := include "weir.memoryLimit" (index . 1) | int64 -}}
{{- $heapMiB := div (mul $limit ($values.heapPercent | default 60)) 102400 -}}
{{- $sizes := gt $limit 0 | ternary (printf "--max-old-space-size=%d --max-semi-space-size=16 --v8-pool-size=0" $heapMiB) "" -}}
{{- printf "%s %s" $sizes ($values.nodeOptions | default "") | trim -}}
{{- end -}}
