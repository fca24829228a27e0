import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below those that the system gives out by itself, and for each process a part of its own: a port could be another's
 * before it is opened here, or while a server is restarted, and servers share ports without a word.
 */
const [LOWEST, PART, PARTS] = [12_000, 500, 40]
const FIRST = LOWEST + (process.pid % PARTS) * PART
/** Given out before, though perhaps not opened yet. */
const given = new Set<number>()

/** Ports of loopback on which nobody listens, for who must know them beforehand. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = randomInt(FIRST, FIRST + PART)
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) ports.push(port)
    if (given.size > PART / 2) given.clear()
  }
  return ports
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
