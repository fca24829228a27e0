import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codings } from '#gateway/compression/accept-encoding.ts'
import { type Figures, inTurn, seconds } from '../interleave.ts'
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

/** What the gateway takes in and compresses in a second, with one download after the other. */
async function throughGateway(site: Site, coding: string): Promise<Figures> {
  const before = cpuSeconds([site.pid])
  const headers = [`Accept-Encoding: ${coding}`]
  const work = { path: '/orders', connections: 1, tls: true, headers, seconds }
  const { perSecond } = await wrk(site.door(HOST), work, '')
  const cpu = cpuSeconds([site.pid]) - before
  return { rate: perSecond * BYTES, perCpu: (perSecond * seconds * BYTES) / cpu }
}

async function alone(job: Omit<ZlibJob, 'milliseconds'>): Promise<Figures> {
  const child = program('zlib-program.ts')
  try {
    const { bytes, wall, cpu } = await ask<ZlibAnswer>(child, { ...job, milliseconds: seconds * 1000 })
    return { rate: bytes / wall, perCpu: bytes / cpu }
  } finally {
    child.kill()
  }
}

const megabytes = (value: number): string => `${Math.round(value / 1e6).toLocaleString('en')} MB/s`

/** Answers compressed on their way through tunnel and edge, against node:zlib in a process that does nothing else. */
export async function* compression(site: Site, served: string): AsyncGenerator<Row> {
  const file = join(served, 'orders')
  writeFileSync(file, orders(BYTES))
  const edge = await site.world.edge([HOST])
  await site.world.route(edge, '/', site.group, { compression: {} })
  await site.answers(`${HOST}/`)
  for (const coding of codings) {
    const { ours = [], peer = [] } = await inTurn({
      ours: () => throughGateway(site, coding),
      peer: () => alone({ file, coding }),
    })
    const name = `${coding}, 4 MiB of JSON, vs node:zlib alone`
    yield { name, ...cellsOf({ ours, peer }, 'rate', megabytes), target: { atLeast: 0.8 } }
    yield { name: `${name}, by CPU time of the gateway`, ...cellsOf({ ours, peer }, 'perCpu', megabytes) }
  }
}
