import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '..')
/** Agents and commands run in processes of their own. */
const others = ['agent', 'bin', 'cli', 'client', 'ui']
const folders = readdirSync(join(root, 'src')).filter(folder => !others.includes(folder))

/**
 * `void` hides a promise from the linter, which asks that every other one is awaited or has a handler. So what follows
 * it runs through `inBackground`, or is one of these.
 */
const reviewed: Readonly<Record<string, readonly string[]>> = {
  // Assignments and calls without a promise.
  'src/acme/issuer.ts': ['this.#running.delete(watched)'],
  'src/dns/tcp.ts': ['socket.resume()', 'socket.destroy()'],
  'src/dns/server.ts': ['socket.resetAndDestroy()'],
  'src/events/destinations/keep-alive-client.ts': ['outgoing.destroy('],
  'src/gateway/listeners/agents.ts': ['socket.destroy()', 'agent.ended.then('],
  'src/gateway/listeners/https.ts': ['socket.destroy()'],
  'src/ssh/command.ts': ['refuse('],
  'src/tls/terminate.ts': ['secured.destroy('],
  'src/server/record-source.ts': ['this.#failures++'],
  'src/cluster/worker-program.ts': ['new LastResort('],
  'src/server/supervisor-program.ts': ['restarts.ended().then('],
  // Promises that are made by `inBackground`.
  'src/events/engine.ts': ['(this.#opening = undefined)', '(this.#reading = undefined)', 'this.#openParts()'],
  'src/ssh/connection.ts': [
    "this.#run('unbind'",
    "this.#run('remove'",
    "this.#queue.run(() => this.#run('open'",
  ],
  'src/telemetry/traffic-events.ts': ['this.#flush()'],
  'src/server/usage/usage-recorder.ts': ['this.#flushInBackground()'],
  'src/base/keep-starting.ts': ['(attempt = tryOnce())'],
  'src/server/succession.ts': ['running?.unshare()'],
  'src/cluster/nodes/cluster.ts': ['membership.refresh()'],
  'src/cluster/nodes/membership.ts': ['this.refresh().then('],
  // Promises that never reject, or have a handler for it.
  'src/cluster/nodes/online-reader.ts': ['this.#reads.settled().then(', 'this.#catchUp().then('],
  'src/cluster/nodes/watched-requests.ts': ['this.#follow(id'],
  'src/cluster/online-names.ts': ['this.#queue.run(() => this.#replace('],
  'src/domains/acme/no-authority.ts': ['queue.run(() => inBackground('],
  'src/gateway/routing/tcp-port-reconciler.ts': ['this.#queue.run(() => this.#settle('],
  'src/events/destinations/event-file.ts': ['this.close()'],
  'src/events/destinations/file.ts': ['lines.close()'],
  'src/events/destinations/syslog.ts': ['this.#socket?.then('],
  'src/gateway/listeners/tcp.ts': ['acceptor.whenEmpty().then('],
  'src/gateway/cluster-links/peer-links.ts': ['link.then('],
  'src/gateway/agents/agent-session.ts': ['this.settled.then('],
  'src/gateway/agents/retried-stream.ts': ['this.#again(error)'],
  'src/tls/certificates.ts': ['this.#answer(name, answer)'],
  'src/server/lifetime.ts': ['stopped.then('],
  'src/tunnel/heartbeat.ts': ['session.closed.then(', 'this.#open()'],
}

/** What stands behind `void` in expressions of a file. */
const voidedIn = (file: string): string[] =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .filter(line => !/^\s*(\*|\/\/|\/\*)/.test(line))
    .flatMap(line => [...line.matchAll(/(?:^|[\s(])void ([#\w(].*)$/g)].map(([, rest = '']) => rest))
    // Types such as `() => void | undefined`.
    .filter(rest => !/^[|&]/.test(rest))

suite('a promise that nothing awaits', () => {
  for (const folder of folders)
    test(`cannot end the process: src/${folder}`, () => {
      for (const file of globSync(`src/${folder}/**/*.ts`, { cwd: root })) {
        const known = reviewed[file] ?? []
        for (const rest of voidedIn(file)) {
          const isKnown = rest.startsWith('inBackground(') || known.some(each => rest.startsWith(each))
          assert.ok(isKnown, `${file}: void ${rest} does not run through inBackground`)
        }
      }
    })

  test('is reviewed only while it is there', () => {
    for (const [file, snippets] of Object.entries(reviewed)) {
      const voided = voidedIn(file)
      for (const snippet of snippets)
        assert.ok(
          voided.some(rest => rest.startsWith(snippet)),
          `${file} no longer has: void ${snippet}`,
        )
    }
  })

  test('has no asynchronous function as a timer or a listener', () => {
    for (const folder of folders)
      for (const file of globSync(`src/${folder}/**/*.ts`, { cwd: root })) {
        const text = readFileSync(join(root, file), 'utf8')
        assert.doesNotMatch(text, /\bset(?:Timeout|Interval|Immediate)\(async\b/, file)
        // Routes of the API are awaited by their server.
        const listeners = text.matchAll(/(\w+)\.(?:on|once|addEventListener)\(\s*'[^']*',\s*async\b/g)
        for (const [found, target] of listeners) assert.equal(target, 'server', `${file}: ${found}`)
      }
  })
})
