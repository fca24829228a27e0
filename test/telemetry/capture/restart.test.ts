import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { Folder, newFolder } from '../../support/folder.ts'
import { newMember } from '../../support/members.ts'
import { secretText } from '../../support/secrets.ts'
import { spawnServer, type Process } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { CaptureWorld, valuesOf } from './support.ts'

const HOST = 'kept.example.test'
const TUNNEL = 'kept.adit.localhost'
const MEMORY_BYTES = 1_048_576

/** A server that runs in a process of its own. */
const worldOf = (process: Process, dataDir: string): CaptureWorld =>
  new CaptureWorld({ ...process, dataDir, authtoken: '', [Symbol.asyncDispose]: async () => undefined })

interface CaptureFile {
  readonly path: string
  readonly id: string
  readonly size: number
}

/** The files of all processes. */
const filesIn = (folder: string): CaptureFile[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap(({ name, parentPath }) => {
    const path = join(parentPath, name)
    // A file may be removed at any time.
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    return name.endsWith('.capture') ? [{ path, id: name.replace('.capture', ''), size }] : []
  })

/** Waits until there is a whole file for each. */
const saved = (folder: string, ids: readonly string[]): Promise<unknown> =>
  until(() => ids.every(id => filesIn(folder).some(file => file.id === id && file.size > 0)))

/** The entry of the request log, without the address of the server. */
async function rowOf(world: CaptureWorld, id: string): Promise<object> {
  const { uri: _, ...row } = (await world.server.api.get(`/requests/${id}`)).body
  return row
}

suite('captures with a folder', () => {
  test('survive a kill of all processes, whatever their number, and damaged files', async () => {
    const dataDir = newFolder()
    const folder = join(dataDir, 'captures')
    const start = (workers: string): Promise<Process> =>
      spawnServer(dataDir, {
        ADIT_CAPTURE_DIR: folder,
        ADIT_TRAFFIC_FULL_CAPTURE: 'on',
        ADIT_EGRESS_ALLOW: '127.0.0.0/8',
        ADIT_WORKERS: workers,
      })
    const before = await start('2')
    const first = worldOf(before, dataDir)
    const seen: IncomingHttpHeaders[] = []
    const backend = await first.static((request, response) => {
      seen.push(request.headers)
      response.setHeader('set-cookie', `sid=${secretText('set cookie')}`)
      request.pipe(response)
    })
    await first.route(await first.edge([HOST]), '/', backend)
    await until(async () => (await first.ask(HOST)).status === 200)
    const headers = { authorization: `Bearer ${secretText('authorization')}`, 'x-seen': 'grün' }
    const asked = { method: 'POST', body: Buffer.from([0, 1, 2, 255]), headers }
    const ids: string[] = []
    for (let count = 0; count < 8; count++) ids.push((await first.ask(`${HOST}/${count}?q`, asked)).requestId)
    const shown = await Promise.all(ids.map(id => first.captured(id)))
    const rows = await Promise.all(ids.map(id => rowOf(first, id)))
    const [alice, bob] = [await newMember(first.server.api), await newMember(first.server.api)]
    await first.tunnel(alice, TUNNEL)
    const { requestId: ofAlice } = await first.askPlain(TUNNEL, '/of-alice')
    await first.captured(ofAlice)
    await saved(folder, [...ids, ofAlice])
    for (const { path } of filesIn(folder)) assert.equal(statSync(path).mode & 0o777, 0o600)
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o700)
    await before.end('SIGKILL')

    const [broken = '', cut = '', ...whole] = ids
    const pathOf = (id: string): string => filesIn(folder).find(file => file.id === id)?.path ?? ''
    const bytes = readFileSync(pathOf(broken))
    bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200)
    writeFileSync(pathOf(broken), bytes)
    writeFileSync(pathOf(cut), readFileSync(pathOf(cut)).subarray(0, 100))
    const notes = join(folder, 'w1', 'notes.txt')
    writeFileSync(notes, 'of another program')
    const after = await start('1')
    const second = worldOf(after, dataDir)
    for (const [at, id] of whole.entries()) {
      assert.deepEqual(await second.captured(id), shown[at + 2])
      assert.deepEqual(await rowOf(second, id), rows[at + 2])
    }
    const listed = async (query: string): Promise<string[]> =>
      (await second.server.api.get(`/requests?${query}`)).body.requests.map(({ id }: { id: string }) => id)
    assert.deepEqual(await listed(`host=${HOST}&method=POST&limit=6`), whole.toReversed())
    assert.deepEqual(await listed(`path=/7&before_id=${ofAlice}`), whole.slice(-1))
    // Whose it is was saved, too.
    assert.deepEqual(
      await Promise.all(
        [alice, bob].map(async ({ token }) => (await second.read(ofAlice, { token })).status),
      ),
      [200, 403],
    )
    await until(() => after.output().includes('damaged captures removed'))
    for (const id of [broken, cut]) {
      assert.equal((await second.read(id)).status, 404)
      assert.equal((await second.server.api.get(`/requests/${id}`)).status, 404)
      assert.equal(pathOf(id), '')
    }
    assert.equal(readFileSync(notes, 'utf8'), 'of another program')

    const [original = ''] = whole
    const { body: replayed } = await second.server.api.post(`/requests/${original}/replay`)
    assert.equal(replayed.capture.response.status, 200)
    assert.equal(seen.at(-1)?.['x-seen'], seen.at(-2)?.['x-seen'])
    assert.equal(seen.at(-1)?.authorization, undefined, 'its value is not in the file')
    writeFileSync(join(folder, 'main', 'notes.txt'), 'of another program')
    await after.end('SIGTERM')

    const last = await start('1')
    const third = worldOf(last, dataDir)
    const { request, replay_of: of } = await third.captured(replayed.request_id)
    assert.deepEqual([request.body, of], [shown[2].request.body, original])
    assert.deepEqual(valuesOf((await third.captured(original)).request, 'authorization'), ['[masked]'])
    await until(() => last.output().includes('not a capture; ignored'))
    await last.end('SIGTERM')
    await first[Symbol.asyncDispose]()
    rmSync(dataDir, { recursive: true })
  })

  test('have no more files than memory', async () => {
    using folder = new Folder()
    chmodSync(folder.path, 0o755)
    const settings = { traffic_full_capture: 'on', capture_memory_mib: '1', capture_body_kib: '64' }
    await using world = await CaptureWorld.start({ ...settings, capture_dir: folder.path })
    const backend = await world.static((_, response) => response.end('x'.repeat(100_000)))
    await world.route(await world.edge([HOST]), '/', backend)
    await until(async () => (await world.ask(HOST)).status === 200)
    const { requestId: first } = await world.ask(HOST)
    await saved(folder.path, [first])
    const many = await Promise.all(Array.from({ length: 60 }, () => world.ask(HOST)))
    const { requestId: last } = await world.ask(HOST)
    await world.captured(last)
    await saved(folder.path, [last])
    const ids = [first, last, ...many.map(({ requestId }) => requestId)]
    const isKept = async (id: string) => (await world.read(id)).status === 200
    const kept = async () =>
      (await Promise.all(ids.map(async id => ((await isKept(id)) ? [id] : [])))).flat().toSorted()
    const names = () => filesIn(folder.path).map(({ id }) => id)
    // The files of all that are kept, and no others.
    await until(async () => (await kept()).join(' ') === names().toSorted().join(' '))
    assert.equal(await isKept(first), false)
    const bytes = filesIn(folder.path).reduce((sum, { size }) => sum + size, 0)
    assert.ok(bytes > MEMORY_BYTES / 2 && bytes <= MEMORY_BYTES, `${bytes} bytes`)
  })

  test('are counted if they cannot be saved, and stay readable', async () => {
    using folder = new Folder()
    const file = await folder.write('file', 'not a folder')
    await using world = await CaptureWorld.start({
      traffic_full_capture: 'on',
      capture_dir: join(file, 'below'),
    })
    await world.route(await world.edge([HOST]), '/', await world.fixedResponse('fine'))
    await until(async () => (await world.ask(HOST)).status === 200)
    const { requestId } = await world.ask(HOST)
    assert.equal((await world.captured(requestId)).response.body, 'fine')
    await until(async () => (await world.metric('adit_captures_unsaved_total')) > 0)
  })
})
