import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { runOrThrow } from '../support/openssh.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'

type Finding = Readonly<Record<string, string>>

/** All that the program has found of one kind. */
const findings = (report: string, kind: string): Finding[] =>
  [...report.matchAll(new RegExp(`<${kind} ([^>]*)/>`, 'g'))].map(([, text = '']) =>
    Object.fromEntries(
      [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  )

/** What it calls ciphers that nothing is wrong with; with TLS 1.2 acceptable is also what has no forward secrecy. */
const GOOD: Readonly<Record<string, readonly string[]>> = {
  'TLSv1.2': ['strong'],
  'TLSv1.3': ['strong', 'acceptable'],
}
const SPOKEN = ['tls 1.2', 'tls 1.3']
/** Bits of a symmetric cipher that are as hard to break; less counts as weak since 2014 (NIST SP 800-131A). */
const MIN_GROUP_BITS = 112

suite('TLS-01: sslscan', () => {
  const folder = newFolder()
  let server: Process

  before(async () => {
    server = await spawnServer(folder)
  })
  after(async () => {
    await server.end('SIGTERM')
    rmSync(folder, { recursive: true })
  })

  for (const listener of ['https', 'agent'] as const)
    test(`finds no weakness in the listener named ${listener}`, async () => {
      const target = `127.0.0.1:${server.bound[listener]?.port}`
      // By default it gives up after 3 s, which a busy machine can take.
      const options = ['--no-colour', '--timeout=60', '--sni-name=adit.localhost', '--xml=-']
      const report = await runOrThrow('sslscan', ...options, target)
      const protocols = findings(report, 'protocol')
      const enabled = protocols.filter(one => one['enabled'] === '1')
      assert.equal(protocols.length, 6, report)
      assert.deepEqual(
        enabled.map(({ type, version }) => `${type} ${version}`),
        SPOKEN,
      )
      const [ciphers, groups, leaks] = [
        findings(report, 'cipher'),
        findings(report, 'group'),
        findings(report, 'heartbleed'),
      ]
      assert.ok(ciphers.length >= 2 && groups.length >= 2 && leaks.length === SPOKEN.length, report)
      const weak = [
        ...ciphers.filter(one => !GOOD[one['sslversion'] ?? '']?.includes(one['strength'] ?? '')),
        ...groups.filter(one => !(Number(one['bits']) >= MIN_GROUP_BITS)),
        ...leaks.filter(one => one['vulnerable'] !== '0'),
        ...findings(report, 'renegotiation').filter(one => one['supported'] !== '0'),
        ...findings(report, 'compression').filter(one => one['supported'] !== '0'),
        ...findings(report, 'pk').filter(one => one['error'] !== 'false'),
      ]
      assert.deepEqual(weak, [])
      assert.match(report, /<signature-algorithm>ecdsa-with-SHA256</)
      assert.match(report, /<expired>false</)
    })
})
