import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { untilRefused } from '../server/program.ts'
import { Folder } from '../support/folder.ts'

const root = join(import.meta.dirname, '../..')
const scripts = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }).scripts,
)

test('no script relies on a hook that npm is configured to ignore', () => {
  assert.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m)
  const hooks = scripts.filter(
    name => /^(pre|post)/.test(name) && scripts.includes(name.replace(/^(pre|post)/, '')),
  )
  assert.deepEqual(hooks, [])
  const lifecycle = ['preinstall', 'install', 'postinstall', 'prepare', 'prepack', 'postpack']
  assert.deepEqual(
    scripts.filter(name => lifecycle.includes(name)),
    [],
  )
})

test('a signal to npm start ends the server', async () => {
  using folder = new Folder()
  const environment = {
    ADIT_DATA_DIR: folder.path,
    ADIT_API_ADDR: '127.0.0.1:0',
    ADIT_HTTP_ADDR: 'off',
    ADIT_HTTPS_ADDR: 'off',
    ADIT_AGENT_ADDR: 'off',
    ADIT_SSH_ADDR: 'off',
    ADIT_ACME_DIRECTORY: 'off',
  }
  const npm = spawn('npm', ['start'], { cwd: root, env: { ...process.env, ...environment } })
  const port = await apiPort(npm)
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  await untilRefused(port)
})

/** The port of the API, once the welcome names it. */
async function apiPort(npm: ChildProcess): Promise<number> {
  let output = ''
  for await (const chunk of npm.stdout ?? []) {
    output += String(chunk)
    const [, port] = /http:\/\/127\.0\.0\.1:(\d+)\/self/.exec(output) ?? []
    if (port !== undefined) return Number(port)
  }
  throw new Error(`npm start ended before the server was ready: ${output}`)
}
