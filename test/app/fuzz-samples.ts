// Good objects, from which bad ones are made by changing a part.

const pod = {
  metadata: { labels: { app: 'a' } },
  spec: {
    restartPolicy: 'Always',
    containers: [
      {
        name: 'c',
        image: 'i:1',
        ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }],
        env: [
          { name: 'A', value: 'b' },
          { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
        resources: { requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: '1' } },
        livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
        securityContext: { runAsUser: 1000, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      },
    ],
    initContainers: [{ name: 'init', image: 'i:1', restartPolicy: 'Always' }],
    volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
    tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'k', operator: 'In', values: ['a'] }] }],
        },
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'a' } },
      },
    ],
  },
};
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { size: { type: 'integer', minimum: 0, default: 1 }, name: { type: 'string', pattern: '^a+$' } },
      'x-kubernetes-validations': [{ rule: 'self.size < 10', message: 'too large' }],
    },
  },
};

/** An object by collection, with its group version and kind. */
export const samples: Readonly<Record<string, Record<string, unknown>>> = {
  '/api/v1/namespaces/default/pods': { apiVersion: 'v1', kind: 'Pod', ...pod },
  '/api/v1/namespaces/default/configmaps': {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    data: { a: 'b' },
    binaryData: { c: 'AA==' },
    immutable: false,
  },
  '/api/v1/namespaces/default/secrets': {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    data: { a: 'AA==' },
    stringData: { b: 'c' },
  },
  '/api/v1/namespaces/default/services': {
    apiVersion: 'v1',
    kind: 'Service',
    spec: {
      type: 'NodePort',
      selector: { app: 'a' },
      ports: [{ port: 80, targetPort: 'http', protocol: 'TCP' }],
      ipFamilyPolicy: 'SingleStack',
    },
  },
  '/api/v1/namespaces/default/persistentvolumeclaims': {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  '/api/v1/namespaces/default/resourcequotas': {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    spec: { hard: { pods: '1000', 'requests.cpu': '100' } },
  },
  '/api/v1/namespaces/default/limitranges': {
    apiVersion: 'v1',
    kind: 'LimitRange',
    spec: {
      limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '100m' }, max: { cpu: '4' } }],
    },
  },
  '/apis/apps/v1/namespaces/default/deployments': {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'a' } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
      template: pod,
    },
  },
  '/apis/batch/v1/namespaces/default/cronjobs': {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    spec: {
      schedule: '*/5 * * * *',
      timeZone: 'Etc/UTC',
      jobTemplate: { spec: { backoffLimit: 2, template: { spec: { ...pod.spec, restartPolicy: 'Never' } } } },
    },
  },
  '/apis/networking.k8s.io/v1/namespaces/default/ingresses': {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    spec: {
      rules: [
        {
          host: 'a.b',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
          },
        },
      ],
    },
  },
  '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies': {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    spec: {
      podSelector: {},
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }], ports: [{ port: 80 }] }],
    },
  },
  '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers': {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    },
  },
  '/apis/policy/v1/namespaces/default/poddisruptionbudgets': {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    spec: { minAvailable: '50%', selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] } },
  },
  '/apis/rbac.authorization.k8s.io/v1/clusterroles': {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    rules: [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['get'], nonResourceURLs: ['/x'] },
    ],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
  },
  '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings': {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [
      { kind: 'ServiceAccount', name: 'a', namespace: 'default' },
      { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' },
    ],
  },
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gizmos.bug.test' },
    spec: {
      group: 'bug.test',
      scope: 'Namespaced',
      names: { plural: 'gizmos', singular: 'gizmo', kind: 'Gizmo', listKind: 'GizmoList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
          additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
        },
      ],
    },
  },
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies': {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] }],
      },
      variables: [{ name: 'x', expression: 'object.metadata.name' }],
      validations: [{ expression: "variables.x != ''", messageExpression: "'no ' + variables.x", reason: 'Invalid' }],
      auditAnnotations: [{ key: 'k', valueExpression: "'v'" }],
    },
  },
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings': {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    spec: {
      policyName: 'p',
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } },
    },
  },
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas': {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    spec: {
      priorityLevelConfiguration: { name: 'global-default' },
      matchingPrecedence: 1000,
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'Group', group: { name: 'g' } }],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
        },
      ],
    },
  },
  '/apis/authorization.k8s.io/v1/subjectaccessreviews': {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: 'u',
      groups: ['g'],
      extra: { a: ['b'] },
      resourceAttributes: {
        verb: 'get',
        resource: 'pods',
        fieldSelector: { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
      },
    },
  },
  '/apis/authentication.k8s.io/v1/tokenreviews': {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: 't', audiences: ['a'] },
  },
  '/apis/certificates.k8s.io/v1/certificatesigningrequests': {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    spec: { request: 'AAAA', signerName: 'example.com/signer', usages: ['client auth'], expirationSeconds: 600 },
  },
  '/apis/coordination.k8s.io/v1/namespaces/default/leases': {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
  },
};
