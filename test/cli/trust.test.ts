import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { makeLocalRoot } from '#pki/local-authority.ts'
import { runCommand } from '../support/command-host.ts'
import { runOrThrow } from '../support/openssh.ts'
import { runAdit } from '../support/server.ts'
import { issueCertificate } from '../tls/test-certificates.ts'
import { Folder } from '../support/folder.ts'

suite('adit trust', () => {
  let folder: Folder
  let root: X509Certificate
  let dataDir: string
  let systemDir: string
  before(async () => {
    folder = new Folder()
    dataDir = folder.file("operator's data")
    systemDir = folder.file('system')
    mkdirSync(dataDir)
    mkdirSync(systemDir)
    const { certificatePem } = await makeLocalRoot('Adit local authority 2026-01-02')
    root = new X509Certificate(certificatePem)
    writeFileSync(join(dataDir, 'ca.pem'), certificatePem)
  })
  after(() => folder[Symbol.dispose]())

  const hex = (fingerprint: string): string => fingerprint.replaceAll(':', '')

  test('installs the root in the trust store of the system, and removes it', async () => {
    const options = ['trust', '--data-dir', dataDir, '--system-dir', systemDir]
    const installed = await runAdit(options)
    assert.equal(installed.code, 0, installed.stderr)
    const name = `adit-${hex(root.fingerprint256).slice(0, 12).toLowerCase()}.crt`
    assert.deepEqual(readdirSync(systemDir), [name])
    const file = join(systemDir, name)
    assert.equal(new X509Certificate(readFileSync(file)).fingerprint256, root.fingerprint256)
    assert.equal(statSync(file).mode & 0o777, 0o644)
    assert.ok(installed.stdout.includes(hex(root.fingerprint256)))
    assert.equal((await runAdit(options)).code, 0, 'twice is no harm')
    const removed = await runAdit([...options, '--uninstall'])
    assert.equal(removed.code, 0, removed.stderr)
    assert.deepEqual(readdirSync(systemDir), [])
    assert.equal((await runAdit([...options, '--uninstall'])).code, 0, 'nor is twice here')
  })

  test('prints the commands for every system, and changes nothing', async () => {
    const { code, stdout } = await runCommand(['trust', '--print', '--system-dir', systemDir], {
      ADIT_DATA_DIR: dataDir,
    })
    assert.equal(code, 0)
    for (const said of [
      'update-ca-certificates',
      'update-ca-trust',
      'add-trusted-cert',
      '-addstore',
      'Firefox',
    ])
      assert.ok(stdout.includes(said), said)
    assert.deepEqual(readdirSync(systemDir), [])
    const undone = await runCommand(['trust', '--print', '--uninstall', '--data-dir', dataDir])
    for (const said of ['sudo rm', '--fresh', 'delete-certificate', '-delstore', hex(root.fingerprint)])
      assert.ok(undone.stdout.includes(said), said)
  })

  test('prints commands that a shell understands, whatever the folder is called', async () => {
    const { stdout } = await runCommand(['trust', '--print', '--data-dir', dataDir])
    const line = stdout.split('\n').find(each => each.includes('sudo install'))
    const words = await runOrThrow('sh', '-c', `sudo() { printf '%s\\n' "$@"; }; ${line}`)
    assert.deepEqual(words.trim().split('\n').slice(0, 4), ['install', '-m', '644', join(dataDir, 'ca.pem')])
  })

  test('reports what is missing', async () => {
    const nothing = await runCommand(['trust', '--data-dir', folder.file('nowhere')])
    assert.equal(nothing.code, 3)
    assert.match(nothing.stderr, /adit serve/)
    const strange = folder.file('strange')
    mkdirSync(strange)
    for (const content of ['nonsense', (await issueCertificate()).pem]) {
      writeFileSync(join(strange, 'ca.pem'), content)
      const refused = await runCommand(['trust', '--data-dir', strange, '--system-dir', systemDir])
      assert.equal(refused.code, 78)
      assert.match(refused.stderr, /not a CA certificate/)
    }
    const lost = await runCommand(['trust', '--data-dir', dataDir, '--system-dir', folder.file('not/there')])
    assert.equal(lost.code, 1)
    assert.match(lost.stderr, /cannot be changed/)
    assert.deepEqual(readdirSync(systemDir), [])
  })
})
