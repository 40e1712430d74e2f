{{/* The number of pods; empty where something else sets it. Written there, each upgrade would set it back (Helm 3) or fail on the
conflict (Helm 4). */}}
{{- define "weir.replicas" -}}
{{- if not (or (eq (include "weir.kind" .) "DaemonSet") .Values.autoscaling.enabled .Values.autoscaling.scaler (kindIs "invalid" .Values.replicas)) -}}
{{- int64 .Values.replicas -}}
{{- end -}}
{{- end -}}

{{/* What the containers of a pod share: the check sees what the gateway will see. Root context, and the resources. */}}
{{- define "weir.container" -}}
{{- $resources := index . 1 -}}
{{- with index . 0 -}}
image: {{ include "weir.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $options := include "weir.nodeOptions" (list . $resources) }}
{{- if or $options .Values.env }}
env:
  {{- with $options }}
  - name: NODE_OPTIONS
    value: {{ . | quote }}
  {{- end }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - { name: config, mountPath: /etc/weir, readOnly: true }
  {{- range $name, $_ := .Values.secrets }}
  - { name: secret-{{ $name }}, mountPath: /run/secrets/{{ $name }}, readOnly: true }
  {{- end }}
  {{- with .Values.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "weir.lifecycle" -}}
{{- $sleep := dict -}}
{{- with .Values.preStopSleepSeconds -}}
{{- $sleep = dict "preStop" (dict "sleep" (dict "seconds" .)) -}}
{{- end -}}
{{- merge (dict) (.Values.lifecycle | default dict) $sleep | toYaml -}}
{{- end -}}

{{/* Whole folders, without subPath: only these follow a change. One volume holds both files, so they change together. */}}
{{- define "weir.volumes" -}}
- name: config
  projected:
    sources:
      {{- range $file := list "gateway" "limits" }}
      {{- with get $.Values.existingConfigMaps $file }}
      - configMap: { name: {{ . }}, items: [{ key: {{ $file }}.yaml, path: {{ $file }}.yaml }] }
      {{- else }}
      - configMap: { name: {{ include "weir.fullname" $ }}-{{ $file }} }
      {{- end }}
      {{- end }}
{{- range $name, $secret := .Values.secrets }}
- name: secret-{{ $name }}
  secret:
    secretName: {{ $secret.secretName }}
    # fsGroup makes the files readable for the gateway.
    defaultMode: 0440
    {{- with $secret.items }}
    items:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A DaemonSet has one pod on each node: only constraints that were written hold for it. */}}
{{- define "weir.spread" -}}
{{- if .Values.topologySpreadConstraints -}}
{{- range .Values.topologySpreadConstraints }}
- {{- toYaml . | nindent 2 }}
{{- if not (hasKey . "labelSelector") }}
  labelSelector:
    matchLabels:
      {{- include "weir.podLabels" $ | nindent 6 }}
{{- if not (hasKey . "matchLabelKeys") }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end }}
{{- else if ne (include "weir.kind" .) "DaemonSet" -}}
{{- range $key, $when := dict "topology.kubernetes.io/zone" .Values.topologySpread.zones "kubernetes.io/hostname" .Values.topologySpread.nodes -}}
{{- if ne ($when | default "none") "none" }}
- topologyKey: {{ $key }}
  maxSkew: 1
  whenUnsatisfiable: {{ $when }}
  labelSelector:
    matchLabels:
      {{- include "weir.podLabels" $ | nindent 6 }}
  # Counts the pods of one revision, so that a rolling update ends as spread out as it began.
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}
