import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { runningServer } from '#base/running-server.ts'
import { runAdit } from '../support/server.ts'
import { start } from './program.ts'
import { Folder } from '../support/folder.ts'

suite('the record of a running server', () => {
  test('leads adit api, adit diagnose and adit ready to a server on other ports', async () => {
    using folder = new Folder()
    await using server = await start({ ADIT_DATA_DIR: folder.path })
    const environment = { ADIT_DATA_DIR: folder.path }
    const self = await runAdit(['api', 'self'], environment)
    assert.equal(self.code, 0, self.stderr)
    const diagnosed = await runAdit(['diagnose'], environment)
    assert.equal(diagnosed.code, 0, diagnosed.stdout)
    const ready = await runAdit(['ready'], environment)
    assert.match(ready.stdout, new RegExp(`^ready .*${server.url}`))
  })

  test('names the process, is readable by its owner alone, and goes with the server', async () => {
    using folder = new Folder()
    const path = join(folder.path, 'server.json')
    await using server = await start({ ADIT_DATA_DIR: folder.path })
    const record = JSON.parse(readFileSync(path, 'utf8')) as { pid: number; api_url: string }
    assert.deepEqual([record.pid, record.api_url], [server.child.pid, server.url])
    assert.equal(await server.end(), 0)
    assert.ok(!existsSync(path))
  })

  test('is ignored when its process was killed', async () => {
    using folder = new Folder()
    const server = await start({ ADIT_DATA_DIR: folder.path })
    await server.end('SIGKILL')
    assert.ok(existsSync(join(folder.path, 'server.json')))
    const ready = await runAdit(['ready'], { ADIT_DATA_DIR: folder.path })
    assert.equal(ready.code, 69)
    assert.match(ready.stderr, /^adit: No server runs in the data folder .*--data-dir\.\n$/)
  })

  test('is ignored when its process id belongs to another process now', () => {
    using folder = new Folder()
    const record = { pid: process.pid, started: '1', api_url: 'http://127.0.0.1:1' }
    writeFileSync(join(folder.path, 'server.json'), JSON.stringify(record))
    assert.equal(runningServer(folder.path), undefined)
  })

  test('is ignored when it is damaged', () => {
    using folder = new Folder()
    writeFileSync(join(folder.path, 'server.json'), '{"pid":')
    assert.equal(runningServer(folder.path), undefined)
  })
})
