{{/* files/alerts.yaml with the thresholds of the values: each is a pattern there, and what stands in its place. */}}
{{- define "weir.alerts" -}}
{{- $text := .Files.Get "files/alerts.yaml" | required "this chart was packed without files/alerts.yaml" -}}
{{- range include "weir.thresholds" . | fromJsonArray -}}
{{- $text = regexReplaceAll (index . 0) $text (index . 1) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* A rule with what the values say of it: root context, and the rule. Recording rules stay as they are. */}}
{{- define "weir.alert" -}}
{{- $alerts := (index . 0).Values.alerts -}}
{{- $rule := index . 1 -}}
{{- if $rule.alert -}}
{{- $own := get ($alerts.rules | default dict) $rule.alert | default dict -}}
{{- $annotations := merge (dict) ($own.annotations | default dict) ($alerts.ruleAnnotations | default dict) $rule.annotations -}}
{{- with $alerts.runbookUrl -}}
{{- $annotations = merge $annotations (dict "runbook_url" (printf "%s/%s" (trimSuffix "/" .) $rule.annotations.runbook)) -}}
{{- end -}}
{{- $labels := merge (dict) ($own.labels | default dict) ($alerts.ruleLabels | default dict) $rule.labels -}}
{{- $rule = merge (dict "labels" $labels "annotations" $annotations) $rule -}}
{{- with $own.for -}}
{{- $_ := set $rule "for" . -}}
{{- end -}}
{{- end -}}
{{- toYaml $rule -}}
{{- end -}}

{{/* Only thresholds that were changed: a default would be written in other digits. */}}
{{- define "weir.thresholds" -}}
{{- $set := .Values.alerts.thresholds -}}
{{- $replaced := list -}}
{{- with $set.failedRequests -}}
{{- if ne (float64 .) 0.001 -}}
{{- range $pattern, $factor := dict "0\\.0144" 14.4 "0\\.006" 6 "0\\.003" 3 "0\\.001" 1 -}}
{{- $replaced = append $replaced (list (printf "(weir:failures:\\w+ >) %s\\b" $pattern) (printf "${1} %s" (include "weir.decimal" (mulf $factor $set.failedRequests)))) -}}
{{- end -}}
{{- $replaced = append $replaced (list "error budget of 0\\.1 %" (printf "error budget of %s %%" (include "weir.decimal" (mulf 100 .)))) -}}
{{- end -}}
{{- end -}}
{{- with $set.slowResponses -}}
{{- if ne (float64 .) 0.01 -}}
{{- range $pattern, $factor := dict "0\\.144" 14.4 "0\\.06" 6 "0\\.03" 3 "0\\.01" 1 -}}
{{- $replaced = append $replaced (list (printf "(weir:slow_responses:\\w+ >) %s\\b" $pattern) (printf "${1} %s" (include "weir.decimal" (mulf $factor $set.slowResponses)))) -}}
{{- end -}}
{{- $replaced = append $replaced (list "budget of 1 %" (printf "budget of %s %%" (include "weir.decimal" (mulf 100 .)))) -}}
{{- end -}}
{{- end -}}
{{- $simple := dict
  "upstreamFailures" (list 0.05 "(alert: WeirUpstreamFails\\n(?s:.)*?> )0\\.05\\b")
  "restrictions" (list 20 "(alert: WeirRestrictionsSurge\\n(?s:.)*?> )20\\b")
  "refusals" (list 0.1 "(alert: WeirRefusalsSurge\\n(?s:.)*?> )0\\.1\\b")
  "refusalsAfterReload" (list 0.2 "(alert: WeirRefusalsAfterReload\\n(?s:.)*?> )0\\.2\\b")
  "decisionsWithoutRedis" (list 0.05 "(alert: WeirDecidesWithoutRedis\\n(?s:.)*?> )0\\.05\\b")
  "nearLimit" (list 0.5 "(alert: WeirNearLimits\\n(?s:.)*?> )0\\.5\\b")
  "eventLoopDelaySeconds" (list 0.1 "(alert: WeirEventLoopIsSlow\\n(?s:.)*?> )0\\.1\\b")
-}}
{{- range $key, $pair := $simple -}}
{{- $number := get $set $key | default (index $pair 0) -}}
{{- if ne (float64 $number) (float64 (index $pair 0)) -}}
{{- $replaced = append $replaced (list (index $pair 1) (printf "${1}%s" (include "weir.decimal" $number))) -}}
{{- end -}}
{{- end -}}
{{- with $set.providerFailures -}}
{{- if ne (float64 .) 0.2 -}}
{{- range $alert := list "SignInsFail" "RefreshesFail" "IntrospectionFails" "NoticesRefused" -}}
{{- $replaced = append $replaced (list (printf "(alert: Weir%s\\n(?s:.)*?> )0\\.2\\b" $alert) (printf "${1}%s" (include "weir.decimal" $set.providerFailures))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $soon := $set.certificateDaysSoon | default 3 -}}
{{- if ne (float64 $soon) 3.0 -}}
{{- $replaced = append $replaced (list "\\b3 \\* 86400" (printf "%s * 86400" (include "weir.decimal" $soon))) -}}
{{- $replaced = append $replaced (list "expires within three days" (printf "expires within %s days" (include "weir.decimal" $soon))) -}}
{{- end -}}
{{- $days := $set.certificateDays | default 14 -}}
{{- if ne (float64 $days) 14.0 -}}
{{- $replaced = append $replaced (list "(alert: WeirCertificateExpires\\n(?s:.)*?< )14 \\* 86400" (printf "${1}%s * 86400" (include "weir.decimal" $days))) -}}
{{- $replaced = append $replaced (list "expires within two weeks" (printf "expires within %s days" (include "weir.decimal" $days))) -}}
{{- end -}}
{{- toJson $replaced -}}
{{- end -}}

{{/* A number without an exponent, and without the digits that binary fractions add. */}}
{{- define "weir.decimal" -}}
{{- regexReplaceAll "\\.?0+$" (printf "%.8f" (float64 .)) "" -}}
{{- end -}}
