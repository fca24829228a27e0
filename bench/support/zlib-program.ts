import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Coding } from '#http/compression/accept-encoding.ts'
import { methods } from '#http/compression/engines.ts'
import { answerJobs } from './answer-jobs.ts'

/** Compresses a file again and again, with the settings of the gateway. */
export interface ZlibJob {
  readonly file: string
  readonly coding: Coding
  readonly milliseconds: number
}

/** Bytes of input, elapsed seconds and CPU seconds. */
export interface ZlibAnswer {
  readonly bytes: number
  readonly wall: number
  readonly cpu: number
}

/** As much as a file or a socket delivers at once. */
const PIECE = 65_536

async function compress(input: Buffer, coding: Coding): Promise<void> {
  const engine = methods[coding].create(input.length)
  const ended = once(engine.resume(), 'end')
  for (let at = 0; at < input.length; at += PIECE)
    if (!engine.write(input.subarray(at, at + PIECE))) await once(engine, 'drain')
  engine.end()
  await ended
}

async function measure({ file, coding, milliseconds }: ZlibJob): Promise<ZlibAnswer> {
  const input = readFileSync(file)
  await compress(input, coding)
  const cpu = process.cpuUsage()
  const start = performance.now()
  let bytes = 0
  while (performance.now() - start < milliseconds) {
    await compress(input, coding)
    bytes += input.length
  }
  const used = process.cpuUsage(cpu)
  return { bytes, wall: (performance.now() - start) / 1000, cpu: (used.user + used.system) / 1e6 }
}

answerJobs(measure)
