import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { spawnServer } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'

interface Finding {
  readonly id: string
  readonly severity: string
  readonly finding: string
}

/** What follows from a certificate of a private CA, which has no status service. */
const ofPrivateCertificates = ['cert_revocation']
const WEAK = ['MEDIUM', 'HIGH', 'CRITICAL']

/** Protocols, ciphers, forward secrecy, certificate and all known vulnerabilities. */
const checks = ['--protocols', '--std', '--fs', '--server-defaults', '--vulnerable']

function testssl(port: number, authority: string, report: string): Promise<Finding[]> {
  const args = [...checks, '--quiet', '--warnings', 'off', '--color', '0', '--add-ca', authority]
  return new Promise((resolve, reject) => {
    execFile('testssl', [...args, '--jsonfile', report, `localhost:${port}`], (error, output) => {
      // Its exit code counts findings; only from 242 on it means that the scan failed.
      if (error && (typeof error.code !== 'number' || error.code >= 242)) reject(new Error(output))
      else resolve(JSON.parse(readFileSync(report, 'utf8')) as Finding[])
    })
  })
}

// sslscan looks for the same protocols and ciphers in seconds; see sslscan.test.ts.
const skip = process.env['TEST_LONG'] !== '1' && 'takes half a minute'

suite('testssl.sh', { skip }, () => {
  test('finds no weakness above low in the listener for HTTPS', { timeout: 300_000 }, async context => {
    const folder = newFolder()
    const server = await spawnServer(folder)
    context.after(async () => {
      await server.end('SIGTERM')
      rmSync(folder, { recursive: true })
    })
    const port = server.bound.https?.port ?? 0
    const findings = await testssl(port, join(folder, 'ca.pem'), join(folder, 'report.json'))
    const looked = new Map(findings.map(({ id, severity }) => [id, severity]))
    assert.equal(looked.get('heartbleed'), 'OK')
    assert.equal(looked.get('TLS1_3'), 'OK')
    const weak = findings.filter(
      ({ id, severity }) => WEAK.includes(severity) && !ofPrivateCertificates.includes(id),
    )
    assert.deepEqual(weak, [])
  })
})
