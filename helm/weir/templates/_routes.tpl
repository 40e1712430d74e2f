{{/* Writes a default into each map at the path that lacks the key: the API server would add it, and Argo CD, which does not know the
defaults of custom resources, would see a difference forever. Lists on the way are gone through. Takes a map or a list, the path,
and the default. Changes the map, and prints nothing. */}}
{{- define "weir.setDefault" -}}
{{- $value := index . 0 -}}
{{- $path := index . 1 -}}
{{- $default := index . 2 -}}
{{- if kindIs "slice" $value -}}
{{- range $value -}}
{{- include "weir.setDefault" (list . $path $default) -}}
{{- end -}}
{{- else if kindIs "map" $value -}}
{{- $key := first $path -}}
{{- if gt (len $path) 1 -}}
{{- include "weir.setDefault" (list (get $value $key) (rest $path) $default) -}}
{{- else if not (hasKey $value $key) -}}
{{- $_ := set $value $key (deepCopy $default) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The spec of an HTTPRoute, GRPCRoute or TLSRoute with the defaults of its definition: root, kind, values and port of the Service. */}}
{{- define "weir.routeSpec" -}}
{{- $kind := index . 1 -}}
{{- $values := deepCopy (index . 2) -}}
{{- $backends := list (dict "name" (include "weir.fullname" (index . 0)) "port" (index . 3 | int)) -}}
{{- $rules := $values.rules | default (list (pick $values "matches" "filters" "timeouts")) -}}
{{- range $rule := $rules -}}
{{- range $part := list "matches" "filters" "timeouts" -}}
{{- if empty (get $rule $part) -}}
{{- $_ := unset $rule $part -}}
{{- end -}}
{{- end -}}
{{- $isRedirect := false -}}
{{- range $rule.filters -}}
{{- $isRedirect = or $isRedirect (hasKey . "requestRedirect") -}}
{{- end -}}
{{- if not (or $isRedirect (hasKey $rule "backendRefs")) -}}
{{- $_ := set $rule "backendRefs" $backends -}}
{{- end -}}
{{- end -}}
{{- $spec := dict "parentRefs" $values.parentRefs "rules" $rules -}}
{{- with $values.hostnames -}}
{{- $_ := set $spec "hostnames" . -}}
{{- end -}}
{{- range include "weir.routeDefaults" $kind | fromJsonArray -}}
{{- include "weir.setDefault" (list $spec (index . 0 | splitList ".") (index . 1)) -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* The defaults in the definitions of the Gateway API: pairs of a path and a value. test/chart/defaults.test.ts compares. */}}
{{- define "weir.routeDefaults" -}}
{{- $defaults := list
  (list "parentRefs.group" "gateway.networking.k8s.io")
  (list "parentRefs.kind" "Gateway")
  (list "rules.backendRefs.group" "")
  (list "rules.backendRefs.kind" "Service")
  (list "rules.backendRefs.weight" 1)
-}}
{{- range $filters := list "rules.filters" "rules.backendRefs.filters" -}}
{{- range $path, $value := dict
  "requestMirror.backendRef.group" ""
  "requestMirror.backendRef.kind" "Service"
  "requestMirror.fraction.denominator" 100
  "requestRedirect.statusCode" 302
  "cors.maxAge" 5
-}}
{{- $defaults = append $defaults (list (printf "%s.%s" $filters $path) $value) -}}
{{- end -}}
{{- end -}}
{{- if eq . "HTTPRoute" -}}
{{- $everything := dict "type" "PathPrefix" "value" "/" -}}
{{- $defaults = concat $defaults (list
  (list "rules.matches" (list (dict "path" $everything)))
  (list "rules.matches.path" $everything)
  (list "rules.matches.path.type" "PathPrefix")
  (list "rules.matches.path.value" "/")
  (list "rules.matches.headers.type" "Exact")
  (list "rules.matches.queryParams.type" "Exact")
) -}}
{{- else if eq . "GRPCRoute" -}}
{{- $defaults = concat $defaults (list
  (list "rules.matches.method.type" "Exact")
  (list "rules.matches.headers.type" "Exact")
) -}}
{{- end -}}
{{- toJson $defaults -}}
{{- end -}}
