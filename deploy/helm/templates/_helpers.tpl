{{- define "toolcrib.name" -}}
{{- printf "%s-toolcrib" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "toolcrib.selector" -}}
app.kubernetes.io/name: toolcrib
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "toolcrib.labels" -}}
{{ include "toolcrib.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* What the containers of a pod have in common. */}}
{{- define "toolcrib.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - name: TOOLCRIB_STORE
    valueFrom:
      secretKeyRef: {name: {{ .Values.store.existingSecret | quote }}, key: url}
  - name: POD_IP
    valueFrom:
      fieldRef: {fieldPath: status.podIP}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.envFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
resources: {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - {name: app, mountPath: /app, readOnly: true}
  - {name: state, mountPath: /home/nonroot}
  - {name: tmp, mountPath: /tmp}
{{- end -}}
