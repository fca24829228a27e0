import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { bundleModules, bundleScript } from '../../scripts/package/bundle.ts'
import { Watched } from '../cli/agent-support.ts'
import { Folder } from '../support/folder.ts'

const args = ['start', '--none', '--web-addr', '127.0.0.1:0', '--log-level', 'debug']
const environment = { ...process.env, ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }

/** Writes a bundle to a folder and returns the program to run. */
const bundles: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  'the npm package': async folder => {
    const { files } = await bundleModules({ 'bin/adit': 'src/bin/agent-main.ts' }, { target: 'node20' })
    for (const { path, content } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content ?? '')
    }
    return join(folder, 'bin/adit.mjs')
  },
  'the single executable': async folder => {
    const { script } = await bundleScript('src/bin/executable.ts')
    writeFileSync(join(folder, 'adit.cjs'), script)
    return join(folder, 'adit.cjs')
  },
}

for (const [name, write] of Object.entries(bundles))
  test(`${name} contains the inspector`, async () => {
    using folder = new Folder()
    const program = await write(folder.path)
    await using agent = new Watched(spawn(process.execPath, [program, ...args], { env: environment }))
    const [, url = ''] = await agent.sees(/ msg=inspector url=(\S+)\n/)
    const page = await fetch(`${url}/inspect/http`)
    assert.match(await page.text(), /<title>Inspector · Adit<\/title>/)
    const script = await fetch(`${url}/ui/inspector/main.js`)
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.match(await script.text(), /from '\/ui\/element\.js'/)
    assert.equal(agent.complaint, '')
  })
