import assert from 'node:assert/strict'
import { spawnServer, type Process } from '../../support/server.ts'
import { Random } from './random.ts'
import { partOf, readWorld } from './world.ts'
import { Writer } from './writer.ts'
import type { Folder } from '../../support/folder.ts'

const WRITERS = 8
const REMEMBERED = 200

export const newWriters = (random: Random): Writer[] =>
  Array.from({ length: WRITERS }, (_, n) => new Writer(`writer ${n}`, new Random(random.below(2 ** 31))))

/** Everything is as acknowledged; a call without an answer took effect as a whole or not at all. */
export async function check(server: Process, writers: readonly Writer[]): Promise<void> {
  const world = await readWorld(server.api)
  for (const writer of writers) {
    const { pending, world: expected } = writer
    const found = partOf(world, writer.name)
    if (writer.accept(found)) continue
    assert.deepEqual(found, expected, `${writer.name}, pending: ${JSON.stringify(pending)}`)
  }
  assert.equal(
    world.size,
    writers.reduce((sum, writer) => sum + writer.world.size, 0),
  )
  for (const path of writers.flatMap(({ removed }) => removed).slice(-REMEMBERED)) {
    assert.equal((await server.api.get(path)).status, 404, path)
  }
}

/** A server that is killed unless it has ended. */
export class Victim implements AsyncDisposable {
  readonly server: Process
  /** From the start of the process until it is ready. */
  readonly startMs: number

  private constructor(server: Process, startMs: number) {
    this.server = server
    this.startMs = startMs
  }

  static async start(folder: Folder, environment: Record<string, string>): Promise<Victim> {
    const begin = performance.now()
    const server = await spawnServer(folder.path, environment)
    const { status } = await server.api.get('/readyz')
    const victim = new Victim(server, performance.now() - begin)
    if (status === 200) return victim
    await victim[Symbol.asyncDispose]()
    return assert.fail(`/readyz answered ${status}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { exitCode, signalCode } = this.server.child
    if (exitCode === null && signalCode === null) await this.server.end('SIGKILL')
  }
}
