import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  appendFile,
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  stat,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { file } from '#events/destinations/file.ts'
import { buildDestination } from '#events/destinations/index.ts'
import { event, events, partsWith, refused, send } from './support.ts'
import { until } from '../../support/until.ts'
import { Folder } from '../../support/folder.ts'

const run = promisify(execFile)
const child = join(import.meta.dirname, 'child.ts')
const linesOf = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8')).trimEnd().split('\n')
const build = (dataDir: string, path: string) => buildDestination({ file: { path } }, partsWith({ dataDir }))

suite('file', () => {
  test('gets a line for each event, in folders that it makes, for its owner alone', async () => {
    using data = new Folder()
    const destination = build(data.path, 'a/b/events.jsonl')
    const batch = events(3)
    await send(destination, batch)
    await send(destination, batch)
    const path = data.file('events/a/b/events.jsonl')
    assert.deepEqual(
      await linesOf(path),
      [...batch, ...batch].map(({ body }) => body),
    )
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.equal((await stat(data.file('events/a'))).mode & 0o777, 0o700)
    destination.close()
  })

  test('is put aside when it is full, and only five are kept', async () => {
    using data = new Folder()
    const one = event('ev_0')
    const length = Buffer.byteLength(one.body) + 1
    const destination = file({ path: 'e' }, partsWith({ dataDir: data.path }), { maxBytes: length * 2 })
    for (let count = 0; count < 13; count++) await send(destination, [event(`ev_${count % 10}`)])
    assert.deepEqual((await readdir(data.file('events'))).toSorted(), ['e', 'e.1', 'e.2', 'e.3', 'e.4'])
    const ids = async (name: string) =>
      (await linesOf(data.file(`events/${name}`))).map(
        line => (JSON.parse(line) as { event_id: string }).event_id,
      )
    assert.deepEqual(await ids('e'), ['ev_2'])
    assert.deepEqual(await ids('e.1'), ['ev_0', 'ev_1'])
    assert.deepEqual(await ids('e.4'), ['ev_4', 'ev_5'])
  })

  test('takes batches of two destinations at once, and rotates once for both', async () => {
    using data = new Folder()
    const parts = partsWith({ dataDir: data.path })
    const pair = [1, 2].map(() => file({ path: 'e' }, parts, { maxBytes: 20_000 }))
    const batches = Array.from({ length: 20 }, (_, at) => event(`ev_${at}`, { pad: 2000 }))
    await Promise.all(batches.map((each, at) => send(pair[at % 2] ?? assert.fail(), [each])))
    const names = await readdir(data.file('events'))
    const lines = await Promise.all(names.map(name => linesOf(data.file(`events/${name}`))))
    assert.equal(names.length, 3)
    assert.deepEqual(lines.flat().toSorted(), batches.map(({ body }) => body).toSorted())
    for (const each of pair) each.close()
  })

  test('is created again when it was moved', async () => {
    using data = new Folder()
    const destination = build(data.path, 'e')
    await send(destination, events(1))
    await rename(data.file('events/e'), data.file('moved'))
    await send(destination, events(2))
    assert.equal((await linesOf(data.file('events/e'))).length, 2)
    destination.close()
  })

  test('gets whole lines after one that was cut off', async () => {
    using data = new Folder()
    await mkdir(data.file('events'))
    await appendFile(data.file('events/e'), '{"half":')
    await send(build(data.path, 'e'), events(1))
    assert.deepEqual(await linesOf(data.file('events/e')), ['{"half":', events(1)[0]?.body])
  })

  for (const path of [
    '../e',
    'a/../../e',
    '/etc/e',
    '..',
    '.',
    '',
    'a//e',
    'a/',
    './e',
    'a\\..\\e',
    'C:e',
    'a\0b',
    'x/'.repeat(20) + 'e',
  ]) {
    test(`is refused outside of the data folder: ${JSON.stringify(path)}`, async () => {
      using data = new Folder()
      const error = await refused(send(build(data.path, path), events(1)))
      assert.equal(error.misconfigured, true)
      assert.deepEqual(await readdir(data.path), [])
    })
  }

  test('is not written through links, to another name of a file, or to something else', async () => {
    using data = new Folder()
    using outside = new Folder()
    await writeFile(outside.file('victim'), 'untouched')
    await mkdir(data.file('events/folder'), { recursive: true })
    await symlink(outside.path, data.file('events/link'))
    await symlink(outside.file('victim'), data.file('events/file'))
    await symlink(outside.file('new'), data.file('events/dangling'))
    await link(outside.file('victim'), data.file('events/hard'))
    await run('mkfifo', [data.file('events/pipe')])
    for (const path of ['link/e', 'link/victim', 'file', 'dangling', 'hard', 'folder', 'pipe']) {
      const error = await refused(send(build(data.path, path), events(1)))
      assert.equal(error.misconfigured, true, `${path}: ${error.message}`)
    }
    assert.deepEqual(await readdir(outside.path), ['victim'])
    assert.equal(await readFile(outside.file('victim'), 'utf8'), 'untouched')
  })

  test('is not written through a link that takes its place later', async () => {
    using data = new Folder()
    using outside = new Folder()
    const destination = build(data.path, 'e')
    await send(destination, events(1))
    await unlink(data.file('events/e'))
    await symlink(outside.file('new'), data.file('events/e'))
    assert.equal((await refused(send(destination, events(1)))).misconfigured, true)
    assert.deepEqual(await readdir(outside.path), [])
  })

  test('is not written through a folder or to a name that changes while it is open', async () => {
    using data = new Folder()
    using outside = new Folder()
    const destination = build(data.path, 'a/e')
    await send(destination, events(1))
    await rename(data.file('events/a'), data.file('moved'))
    await symlink(outside.path, data.file('events/a'))
    assert.equal((await refused(send(destination, events(1)))).misconfigured, true)
    assert.deepEqual(await readdir(outside.path), [])
    await unlink(data.file('events/a'))
    await send(destination, events(1))
    await link(data.file('events/a/e'), outside.file('second name'))
    assert.equal((await refused(send(destination, events(1)))).misconfigured, true)
    await unlink(outside.file('second name'))
    await send(destination, events(1))
    assert.equal((await linesOf(data.file('events/a/e'))).length, 2)
    destination.close()
  })

  test('is checked again when it was written, truncated, or made readable for others', async () => {
    using data = new Folder()
    const destination = build(data.path, 'e')
    const path = data.file('events/e')
    await send(destination, events(1))
    await appendFile(path, '{"half":')
    await send(destination, events(1))
    const { body } = event('ev_0')
    assert.deepEqual(await linesOf(path), [body, '{"half":', body])
    await truncate(path, 0)
    await chmod(path, 0o644)
    await send(destination, events(1))
    assert.deepEqual(await linesOf(path), [body])
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    destination.close()
  })

  test('is open once while lines come, and no longer when it is closed', async () => {
    using data = new Folder()
    const path = await realpath(data.path).then(folder => join(folder, 'events/e'))
    const isOpen = async (): Promise<number> => {
      const numbers = await readdir('/proc/self/fd')
      const paths = await Promise.all(
        numbers.map(number => readlink(`/proc/self/fd/${number}`).catch(() => '')),
      )
      return paths.filter(each => each === path).length
    }
    const destination = build(data.path, 'e')
    for (let count = 0; count < 3; count++) await send(destination, events(1))
    assert.equal(await isOpen(), 1)
    destination.close()
    await until(async () => (await isOpen()) === 0)
    await send(destination, events(1))
    assert.equal((await linesOf(path)).length, 4)
    destination.close()
  })

  test('cannot name the files of the server itself', async () => {
    using data = new Folder()
    await data.write('master.key', 'key')
    await send(build(data.path, 'master.key'), events(1))
    assert.equal(await data.read('master.key'), 'key\n')
  })

  test('is retried when it cannot be written, without a partial line in it', async () => {
    using data = new Folder()
    // Files of at most 64 KiB: the system refuses in the middle of a write, as it does when a disk is full.
    const limited = 'ulimit -f 64; exec "$0" "$@"'
    const target = JSON.stringify({ file: { path: 'e' } })
    const sizes = ['40000', '40000', '1000']
    const { stderr } = await run('bash', [
      '-c',
      limited,
      process.execPath,
      child,
      target,
      data.path,
      ...sizes,
    ])
    assert.deepEqual(stderr.trim().split('\n'), [
      'taken',
      'false The file cannot be written (EFBIG).',
      'taken',
    ])
    const lines = await linesOf(data.file('events/e'))
    assert.deepEqual(
      lines.map(line => (JSON.parse(line) as { event_id: string }).event_id),
      ['ev_0', 'ev_2'],
    )
  })

  test('is retried when the data folder is missing', async () => {
    const error = await refused(send(build('/nonexistent/adit', 'e'), events(1)))
    assert.deepEqual([error.permanent, error.message], [false, 'The file cannot be written (ENOENT).'])
  })
})

suite('debug', () => {
  test('writes a line for each event to standard output', async () => {
    const { stdout, stderr } = await run(process.execPath, [child, '{"debug":{}}', '', '10', '100000'], {
      maxBuffer: 1 << 20,
    })
    assert.equal(stderr, 'taken\ntaken\n')
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      event('ev_0', { pad: 10 }).body,
      event('ev_1', { pad: 100_000 }).body,
    ])
  })
})

test('a destination without a target reports it when an event is sent', async () => {
  const error = await refused(send(buildDestination({ file: null, debug: null }, partsWith()), events(1)))
  assert.deepEqual([error.misconfigured, error.message], [true, 'The destination has no known target.'])
})
