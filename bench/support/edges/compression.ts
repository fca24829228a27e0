import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Coding, codings } from '#http/compression/accept-encoding.ts'
import { type Figures, inTurn, seconds } from '../interleave.ts'
import type { Address } from '../peers/contender.ts'
import { newCertificate } from '../peers/nginx.ts'
import type { PipeAnswer, PipeJob } from '../pipe-program.ts'
import { cpuSeconds } from '../processes.ts'
import { ask, program } from '../programs.ts'
import type { Row } from '../row.ts'
import { wrk } from '../wrk.ts'
import type { ZlibAnswer, ZlibJob } from '../zlib-program.ts'
import { orders } from './document.ts'
import { cellsOf } from './rated.ts'
import type { Site } from './site.ts'

const HOST = 'compressed.example.test'
const BYTES = 4 * 1024 * 1024

/** What a server compresses per second, with one download after the other. */
async function served(address: Address, pid: number, coding: Coding): Promise<Figures> {
  const before = cpuSeconds([pid])
  const headers = [`Accept-Encoding: ${coding}`]
  const { perSecond } = await wrk(
    address,
    { path: '/orders', connections: 1, tls: true, headers, seconds },
    '',
  )
  const cpu = cpuSeconds([pid]) - before
  return { rate: perSecond * BYTES, perCpu: (perSecond * seconds * BYTES) / cpu }
}

/** The same in a process that does nothing else, from memory to nowhere. */
async function alone(file: string, coding: Coding): Promise<Figures> {
  const child = program('zlib-program.ts')
  try {
    const job: ZlibJob = { file, coding, milliseconds: seconds * 1000 }
    const { bytes, wall, cpu } = await ask<ZlibAnswer>(child, job)
    return { rate: bytes / wall, perCpu: bytes / cpu }
  } finally {
    child.kill()
  }
}

const megabytes = (value: number): string => `${Math.round(value / 1e6).toLocaleString('en')} MB/s`

/** Compressed responses through tunnel and edge, against node:zlib alone, in a bare server, and in a bare relay. */
export async function* compression(site: Site, folder: string): AsyncGenerator<Row> {
  const file = join(folder, 'upstream', 'orders')
  writeFileSync(file, orders(BYTES))
  const edge = await site.world.edge([HOST])
  await site.world.route(edge, '/', site.group, { compression: {} })
  await site.answers(`${HOST}/`)
  const [pipe, relay, origin] = [0, 1, 2].map(() => program('pipe-program.ts'))
  try {
    const job = { file, ...(await newCertificate(join(folder, 'pipe'))) }
    const portOf = async (child: typeof pipe, from = 0): Promise<number> =>
      child === undefined
        ? 0
        : (await ask<PipeAnswer>(child, { ...job, origin: from } satisfies PipeJob)).port
    const port = await portOf(pipe)
    const relayed = await portOf(relay, await portOf(origin))
    for (const coding of codings) {
      const {
        ours = [],
        zlib = [],
        server = [],
        behind = [],
      } = await inTurn({
        ours: () => served(site.addressOf(HOST), site.pid, coding),
        zlib: () => alone(file, coding),
        server: () => served({ port, host: 'localhost' }, pipe?.pid ?? -1, coding),
        behind: () => served({ port: relayed, host: 'localhost' }, relay?.pid ?? -1, coding),
      })
      const name = `${coding}, 4 MiB of JSON`
      const toZlib = { ours, peer: zlib }
      yield {
        name: `${name}, vs node:zlib alone`,
        ...cellsOf(toZlib, 'rate', megabytes),
        target: { atLeast: 0.8 },
      }
      yield { name: `${name}, vs node:zlib alone, per CPU second`, ...cellsOf(toZlib, 'perCpu', megabytes) }
      yield {
        name: `${name}, vs node:https with node:zlib`,
        ...cellsOf({ ours, peer: server }, 'rate', megabytes),
      }
      // The limit of a gateway in Node: the body comes from another process over TLS.
      const toRelay = { ours: behind, peer: zlib }
      yield {
        name: `${name}, bare relay in Node, vs node:zlib alone`,
        ...cellsOf(toRelay, 'rate', megabytes),
      }
      yield {
        name: `${name}, bare relay in Node, vs node:zlib alone, per CPU second`,
        ...cellsOf(toRelay, 'perCpu', megabytes),
      }
    }
  } finally {
    for (const child of [pipe, relay, origin]) child?.kill()
  }
}
