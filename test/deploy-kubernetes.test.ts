import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { readSettings } from '#base/read-settings.ts'

const folder = join(import.meta.dirname, '../deploy/kubernetes')
const read = (path: string): string => readFileSync(join(folder, path), 'utf8')

/** The parts of the objects that are looked at. */
interface Port {
  readonly name: string
  readonly port: number
  readonly targetPort?: string
  readonly containerPort: number
  readonly protocol?: string
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Container {
  readonly envFrom: unknown
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly ports: readonly Port[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly mountPath: string }[]
}

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly spec: {
    readonly selector: { readonly matchLabels?: object }
    readonly ports: readonly Port[]
    readonly maxUnavailable: number
    readonly replicas: number
    readonly serviceName: string
    readonly clusterIP?: string
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly containers: readonly [Container]
        readonly securityContext: { readonly runAsUser: number; readonly runAsNonRoot: boolean }
        readonly affinity: { readonly podAntiAffinity: object }
        readonly terminationGracePeriodSeconds: number
        readonly enableServiceLinks: boolean
      }
    }
  }
  readonly [key: string]: unknown
}

const objectsIn = (path: string): Resource[] =>
  parseAllDocuments(read(path), { uniqueKeys: true }).map(document => {
    assert.deepEqual(document.errors, [], path)
    return document.toJS() as Resource
  })

const variablesIn = (path: string): [name: string, value: string][] =>
  [...read(path).matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value])

suite('the Kubernetes manifests', () => {
  const [kustomization] = objectsIn('kustomization.yaml')
  const resources = kustomization?.['resources'] as readonly string[]
  const objects = resources.flatMap(objectsIn)
  const named = (kind: string, name: string): Resource =>
    objects.find(each => each.kind === kind && each.metadata.name === name) ?? assert.fail(`${kind} ${name}`)
  const set = named('StatefulSet', 'adit').spec
  const pod = set.template.spec
  const [container] = pod.containers
  const config = Object.fromEntries(variablesIn('config.env'))

  test('are all part of the kustomization; the secret is a file that is not in the repository', () => {
    const others = ['kustomization.yaml', 'config.env', 'secret.example.env']
    const files = readdirSync(folder).filter(name => name !== 'secret.env')
    assert.deepEqual(files.toSorted(), [...resources, ...others].toSorted())
    assert.deepEqual(kustomization?.['configMapGenerator'], [{ name: 'adit', envs: ['config.env'] }])
    assert.deepEqual(kustomization?.['secretGenerator'], [{ name: 'adit', envs: ['secret.env'] }])
    assert.deepEqual(container.envFrom, [{ configMapRef: { name: 'adit' } }, { secretRef: { name: 'adit' } }])
  })

  test('set values that the settings take, and a name for each node in the cluster', () => {
    const example = Object.fromEntries(variablesIn('secret.example.env'))
    assert.deepEqual(
      Object.entries(example)
        .filter(([, value]) => value === '')
        .map(([name]) => name),
      ['ADIT_MASTER_KEY', 'ADIT_API_KEY', 'ADIT_AUTHTOKEN'],
    )
    const secrets = {
      ADIT_MASTER_KEY: '0f'.repeat(32),
      ADIT_API_KEY: 'a'.repeat(48),
      ADIT_AUTHTOKEN: 'b'.repeat(48),
    }
    const { value = '' } = container.env.find(({ name }) => name === 'ADIT_PEER_URL') ?? {}
    const settled = readSettings(new Map(), {
      ...config,
      ...example,
      ...secrets,
      ADIT_PEER_URL: value.replace('$(POD_NAME)', 'adit-0'),
    })
    assert.deepEqual(settled.peer_url, { host: `adit-0.${set.serviceName}`, port: settled.peer_addr?.port })
    assert.equal(named('Service', set.serviceName).spec.clusterIP, 'None')
  })

  test('select the pods, and forward to ports that they have', () => {
    const { labels } = set.template.metadata
    assert.deepEqual(set.selector.matchLabels, labels)
    assert.deepEqual(named('PodDisruptionBudget', 'adit').spec.selector.matchLabels, labels)
    const opened = new Map(container.ports.map(({ name, protocol = 'TCP' }) => [name, protocol]))
    for (const { spec } of objects.filter(({ kind }) => kind === 'Service')) {
      assert.deepEqual(spec.selector, labels)
      for (const { targetPort, protocol = 'TCP' } of spec.ports)
        if (targetPort !== undefined) assert.equal(opened.get(targetPort), protocol, targetPort)
    }
    const [first = 0, last = 0] = String(config['ADIT_TCP_PORTS']).split('-').map(Number)
    const listed = named('Service', 'adit').spec.ports.filter(({ name }) => name.startsWith('tcp-'))
    assert.deepEqual([listed[0]?.port, listed.at(-1)?.port, listed.length], [first, last, last - first + 1])
  })

  test('watch health, and let a node finish before it is killed, one at a time', () => {
    const { startupProbe, livenessProbe, readinessProbe, lifecycle } = container
    assert.deepEqual(
      [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet),
      ['/healthz', '/healthz', '/readyz'].map(path => ({ path, port: 'api' })),
    )
    // A draining node exits after 34 seconds at the latest.
    assert.ok(pod.terminationGracePeriodSeconds > lifecycle.preStop.sleep.seconds + 45)
    assert.equal(named('PodDisruptionBudget', 'adit').spec.maxUnavailable, 1)
    assert.ok(set.replicas > 2)
    assert.ok(pod.affinity.podAntiAffinity)
  })

  test('leave the container as little as it needs, and no variables that look like settings', () => {
    assert.equal(pod.enableServiceLinks, false)
    assert.equal(pod.securityContext.runAsNonRoot, true)
    assert.equal(pod.securityContext.runAsUser, 10_001)
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.deepEqual(
      container.volumeMounts.map(({ mountPath }) => mountPath),
      ['/data', '/tmp'],
    )
  })
})
