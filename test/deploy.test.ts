import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { renderMetrics } from '#base/metrics-text.ts'
import { Registry } from '#base/metrics.ts'
import { SettingError } from '#base/setting-values.ts'
import { anchorOf } from '#reference/markdown.ts'
import { declareClusterMetrics } from '#server/cluster-metrics.ts'
import { start } from './server/program.ts'
import { startServer } from './support/server.ts'
import { until } from './support/until.ts'
import { Folder } from './support/folder.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const run = promisify(execFile)

interface Service {
  readonly image?: string
  readonly environment: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes: readonly string[]
  readonly [key: string]: unknown
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: object
}

interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly labels: object
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}

const yaml = (path: string): unknown => parse(read(path), { uniqueKeys: true })
const compose = yaml('deploy/compose.yaml') as Compose
const withPostgres = yaml('deploy/compose.postgres.yaml') as Compose
const dockerfile = read('deploy/Dockerfile').replaceAll('\\\n', ' ')
const lines = dockerfile.split('\n')
const instruction = (word: string): string[] =>
  lines.filter(line => line.startsWith(`${word} `)).map(line => line.slice(word.length).trim())
const imageVariables = new Map(
  [...(instruction('ENV')[0] ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
)
const unit = read('deploy/adit.service')
const unitValues = (key: string): string[] =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(match => String(match[1]))

suite('the Dockerfile', () => {
  test('runs as an unprivileged user, with one volume of that user', () => {
    const [user = ''] = instruction('USER')
    assert.match(user, /^[1-9]\d{3,}:[1-9]\d{3,}$/)
    assert.deepEqual(instruction('VOLUME'), ['/data'])
    assert.ok(dockerfile.includes(`chown ${user} /data`))
    assert.ok(lines.indexOf(`USER ${user}`) > lines.findLastIndex(line => line.startsWith('RUN ')))
  })

  test('holds the packaged executable and nothing else of the repository', () => {
    assert.deepEqual(instruction('COPY'), [
      '--chown=root:root --chmod=0755 dist/adit-*-linux-x64 /usr/bin/adit',
    ])
    assert.deepEqual(read('deploy/Dockerfile.dockerignore').trim().split('\n'), [
      '*',
      '!dist',
      'dist/*',
      '!dist/adit-*-linux-x64',
    ])
  })

  test('has a health check that finds a server, and its absence', async () => {
    const [, command = ''] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile) ?? []
    const [program, ...args] = JSON.parse(command) as string[]
    assert.equal(program, '/usr/bin/adit')
    const check = (folder: string) => run(join(root, 'bin/adit'), args, { env: { ADIT_DATA_DIR: folder } })
    using folder = new Folder()
    {
      await using server = await start({ ADIT_DATA_DIR: folder.path })
      const { stdout } = await check(folder.path)
      assert.match(stdout, new RegExp(`^ready .*${server.url}`))
    }
    await assert.rejects(check(folder.path), { code: 69 })
  })

  test('is stopped by SIGTERM, starts the program itself, and has labels that describe it', () => {
    assert.deepEqual(instruction('STOPSIGNAL'), ['SIGTERM'])
    assert.deepEqual(instruction('ENTRYPOINT'), ['["/usr/bin/adit"]'])
    assert.deepEqual(instruction('CMD'), ['["serve"]'])
    for (const label of ['title', 'description', 'licenses'])
      assert.match(instruction('LABEL')[0] ?? '', new RegExp(`org\\.opencontainers\\.image\\.${label}="`))
  })

  test('opens the ports that it listens on', () => {
    const listened = [...imageVariables.values()].flatMap(value => /:(\d+)$/.exec(value)?.[1] ?? [])
    assert.deepEqual((instruction('EXPOSE')[0] ?? '').split(' '), listened)
  })
})

suite('the compose files', () => {
  const adit = compose.services['adit']
  const container = (mapping: string): string => mapping.split(':').at(-1) ?? ''

  test('map public ports to those of the image, and the API to this machine alone', () => {
    const targets = (adit?.ports ?? []).map(container)
    const exposed = (instruction('EXPOSE')[0] ?? '').split(' ')
    assert.deepEqual(targets.slice(0, -1).toSorted(), exposed.toSorted())
    assert.ok(adit?.ports?.includes('127.0.0.1:4600:4600'))
    const tcp = adit?.environment['ADIT_TCP_PORTS'] ?? ''
    assert.ok(adit?.ports?.includes(`${tcp}:${tcp}`))
    assert.equal(
      adit?.ports?.find(mapping => mapping.startsWith('443:')),
      '443:8443',
    )
    assert.equal(adit?.environment['ADIT_PUBLIC_HTTPS_PORT'], '443')
  })

  test('leave the container as little as it needs', () => {
    assert.equal(adit?.['read_only'], true)
    for (const service of [adit, withPostgres.services['database']]) {
      assert.deepEqual(service?.['cap_drop'], ['ALL'])
      assert.deepEqual(service?.['security_opt'], ['no-new-privileges:true'])
    }
    assert.deepEqual(adit?.volumes, ['data:/data'])
    assert.ok(Number.parseInt(String(adit?.['stop_grace_period']), 10) > 35)
  })

  test('start the server when PostgreSQL is ready, with a password that is not written down', () => {
    const { database, adit: server } = withPostgres.services
    assert.deepEqual(server?.['depends_on'], { database: { condition: 'service_healthy' } })
    assert.ok(database?.['healthcheck'])
    assert.equal(database?.ports, undefined)
    assert.match(database?.environment['POSTGRES_PASSWORD'] ?? '', /^\$\{POSTGRES_PASSWORD:\?/)
    assert.match(
      server?.environment['ADIT_DATABASE_URL'] ?? '',
      /^postgresql:\/\/adit:\$\{POSTGRES_PASSWORD:\?.*\}@database\/adit$/,
    )
    assert.match(database?.image ?? '', /^postgres:\d+/)
  })
})

suite('the systemd unit', () => {
  test('runs without rights but that to open low ports, and may write only its state', () => {
    const one = (key: string) => unitValues(key)[0]
    assert.equal(one('User'), 'adit')
    for (const key of ['AmbientCapabilities', 'CapabilityBoundingSet'])
      assert.equal(one(key), 'CAP_NET_BIND_SERVICE')
    assert.equal(one('NoNewPrivileges'), 'yes')
    assert.equal(one('ProtectSystem'), 'strict')
    assert.equal(one('StateDirectory'), 'adit')
    assert.deepEqual(unitValues('Environment'), ['ADIT_DATA_DIR=/var/lib/adit'])
    assert.equal(one('LimitNOFILE'), '1048576')
    assert.equal(one('Restart'), 'on-failure')
    assert.ok(Number(one('TimeoutStopSec')) > 45)
  })

  test('reloads settings, and stays stopped when one is invalid', () => {
    assert.deepEqual(unitValues('ExecReload'), ['/bin/kill -HUP $MAINPID'])
    assert.deepEqual(unitValues('RestartPreventExitStatus'), [String(new SettingError('').exitCode)])
    assert.deepEqual(unitValues('LogsDirectory'), ['adit'])
    // The notification is sent by a child process of the server.
    assert.deepEqual([unitValues('Type'), unitValues('NotifyAccess')], [['notify'], ['all']])
  })

  test('is understood by systemd, which finds little that is exposed', async context => {
    const analyze = '/usr/bin/systemd-analyze'
    const folder = mkdtempSync(join(tmpdir(), 'adit-unit-'))
    context.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'adit.service')
    writeFileSync(path, unit.replaceAll('/opt/adit', root))
    const { stderr } = await run(analyze, ['verify', '--man=no', path])
    assert.equal(
      stderr
        .split('\n')
        .filter(line => line.includes('adit.service'))
        .join(),
      '',
    )
    await run(analyze, ['security', '--offline=true', '--threshold=25', path])
  })
})

suite('the metrics', () => {
  let exported = ''
  before(async () => {
    const optional = { dns_addr: '127.0.0.1:0', metrics_endpoints: '1' }
    await using server = await startServer({ ...optional, domain: 'adit.test' })
    // Refusals are listed when there was one.
    const { host, port } = server.bound.http ?? {}
    await fetch(`http://${host}:${port}/`)
    // The state of a delivery has a metric only if there is one.
    const { body } = await server.api.post('/event_destinations', { target: { debug: {} } })
    await server.api.post('/event_subscriptions', {
      sources: [{ type: 'ip_policy_created.v0' }],
      destination_ids: [body.id],
    })
    exported = await until(async () => (await fetch(`${server.api.url}/metrics`)).text(), {
      fits: text => text.includes('adit_event_failing_seconds{'),
    })
    // The tests of clusters check that their nodes export these.
    const ofCluster = new Registry()
    const directory = { countsOf: () => ({ agents: 0, tunnels: 0 }) }
    const membership = { nodes: new Map(), leaseAgeMs: 0, isDraining: false }
    const forwards = { connected: 0, failed: 0 }
    const cluster = { node: 'nd_1', peers: { links: 0, forwards }, membership, directory }
    declareClusterMetrics(ofCluster, cluster, () => 0)
    exported += renderMetrics(ofCluster.snapshot())
  })

  const familyOf = (name: string): string => name.replace(/_(bucket|sum|count)$/, '')
  const families = (): Set<string> =>
    new Set([...exported.matchAll(/^# TYPE (\S+)/gm)].map(match => String(match[1])))

  function assertKnown(expression: string): void {
    for (const [, name = '', matchers = ''] of expression.matchAll(
      /\b((?:adit|process)_\w+)(?:\{([^}]*)\})?/g,
    )) {
      assert.ok(families().has(familyOf(name)), `${name} in ${expression}`)
      for (const [matcher, label] of matchers.matchAll(/(\w+)="[^"$]*"/g)) {
        if (label === 'job' || label === 'instance') continue
        const samples = exported.split('\n').filter(line => line.startsWith(`${name}{`))
        assert.ok(
          samples.some(line => line.includes(matcher)),
          `${name} has no ${matcher}`,
        )
      }
    }
  }

  test('of the dashboard are exported', () => {
    const { panels } = JSON.parse(read('deploy/grafana-dashboard.json')) as {
      panels: { title: string; type: string; targets?: { expr: string }[] }[]
    }
    const charts = panels.filter(({ type }) => type !== 'row')
    assert.ok(charts.length > 15)
    for (const { title, targets = [] } of charts) {
      assert.ok(targets.length > 0, title)
      for (const { expr } of targets) assertKnown(expr)
    }
    const shown = JSON.stringify(charts)
    for (const name of families()) {
      if (name.startsWith('adit_')) assert.ok(shown.includes(name), `no chart shows ${name}`)
    }
  })

  test('of the alerts are exported, and the runbook has a procedure for each', () => {
    const { groups } = yaml('deploy/alerts.yaml') as { groups: { rules: AlertRule[] }[] }
    const rules = groups.flatMap(group => group.rules)
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    const [, ...sections] = read('docs/runbook.md').split(/^## /m)
    assert.deepEqual(
      sections.map(section => section.replace(/\n.*/s, '')).toSorted(),
      rules.map(({ alert }) => alert).toSorted(),
    )
    for (const section of sections)
      assert.match(section, /^\w+\n\n\*\*Meaning\*\*: .+\n\n\*\*Check\*\*: .+\n\n\*\*Do\*\*: .+\n*$/)
    for (const { alert, expr, labels, annotations } of rules) {
      assertKnown(expr)
      assert.match(JSON.stringify(labels), /"severity":"(warning|critical)"/)
      assert.match(annotations.summary, /\.$/)
      assert.equal(annotations.runbook_url, `docs/runbook.md#${anchorOf(alert)}`)
    }
  })

  test('are all explained, and no others', () => {
    const [, section = ''] = /^## Metrics\n(.*?)^## /ms.exec(read('docs/operations.md')) ?? []
    const reported = new Set([...section.matchAll(/`(adit_\w+)`/g)].map(match => String(match[1])))
    const ours = [...families()].filter(name => name.startsWith('adit_'))
    assert.deepEqual([...reported].toSorted(), ours.toSorted())
  })
})
