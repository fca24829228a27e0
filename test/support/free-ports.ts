import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Below those that the system gives out by itself, and for each process a part of its own: a port could be another's
 * before it is opened here, or while a server is restarted, and servers share ports without a word.
 */
const [LOWEST, PART, PARTS] = [12_000, 500, 40]
/** Given out before, though perhaps not opened yet. */
const given = new Set<number>()
let part: Promise<number> | undefined

/** The first port of a part that no other process has: its owner listens on that port until it ends. */
async function ownPart(): Promise<number> {
  for (let tried = 0; tried < PARTS; tried++) {
    const first = LOWEST + ((process.pid + tried) % PARTS) * PART
    const claim = await listener(first)
    if (claim) {
      claim.unref()
      return first
    }
  }
  throw new Error(`other processes have all ports from ${LOWEST} to ${LOWEST + PARTS * PART - 1}`)
}

/** Free loopback ports, for tests that must know them in advance. */
export async function freePorts(count: number): Promise<number[]> {
  const first = await (part ??= ownPart())
  const ports: number[] = []
  while (ports.length < count) {
    const port = randomInt(first + 1, first + PART)
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
  const server = await listener(port)
  if (!server) return false
  server.close()
  await once(server, 'close')
  return true
}

/** Listens on a port, unless another does. */
async function listener(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}
