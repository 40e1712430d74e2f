{{/* The name of the objects: the release's, with the chart's unless it is part of it. Leaves room for suffixes. */}}
{{- define "weir.fullname" -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $byDefault := contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- default $byDefault .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "weir.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* Metadata of an object: root context, suffix of the name, and { labels, annotations, namespace } of its own. Every template begins with
it, so it ends the rendering where the values have errors. */}}
{{- define "weir.metadata" -}}
{{- $root := index . 0 -}}
{{- include "weir.check" $root -}}
{{- $suffix := index . 1 -}}
{{- $own := index . 2 -}}
name: {{ include "weir.fullname" $root }}{{ $suffix }}
namespace: {{ $own.namespace | default (include "weir.namespace" $root) }}
labels:
  {{- include "weir.releaseLabels" $root | nindent 2 }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ $root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
  {{- with merge (dict) (default dict $own.labels) (default dict $root.Values.commonLabels) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default dict $own.annotations) (default dict $root.Values.commonAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "weir.releaseLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Selects the pods of the gateway, and not that of "helm test". */}}
{{- define "weir.podLabels" -}}
{{ include "weir.releaseLabels" . }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- define "weir.image" -}}
{{- with .Values.image -}}
{{ with .registry }}{{ . }}/{{ end }}{{ .repository }}{{ empty .digest | ternary (printf ":%s" (default $.Chart.AppVersion .tag)) (printf "@%s" .digest) }}
{{- end -}}
{{- end -}}

{{/* What keeps the pods. */}}
{{- define "weir.kind" -}}
{{- .Values.kind | default "Deployment" -}}
{{- end -}}

{{- define "weir.serviceAccount" -}}
{{- default (empty .Values.serviceAccount.create | ternary "default" (include "weir.fullname" .)) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Labels of the pod of "helm test", which the NetworkPolicy admits. */}}
{{- define "weir.testLabels" -}}
{{ include "weir.releaseLabels" . }}
app.kubernetes.io/component: test
{{- end -}}

{{/* The port of the Service for clients over HTTP. */}}
{{- define "weir.clientPort" -}}
{{- $listeners := fromYaml (include "weir.listeners" .) -}}
{{- .Values.service.port | default (empty $listeners.http.tls | ternary 80 443) -}}
{{- end -}}
