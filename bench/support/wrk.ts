import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from './peers/contender.ts'
import { BULK_BYTES } from './peers/nginx.ts'
import { outputOf, splitArguments } from './processes.ts'
import { needTool } from './tools.ts'

export interface HttpWork {
  readonly path: string
  readonly connections: number
  readonly seconds: number
  readonly tls?: boolean
  /** Header lines besides Host. */
  readonly headers?: readonly string[]
  /** Sends ten megabytes with each request. */
  readonly upload?: boolean
  /** A Lua script that selects the requests. */
  readonly script?: string
}

interface HttpFigures {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const inMs: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 }

function latency(output: string, share: string): number {
  const [, value = '', unit = ''] =
    new RegExp(`^\\s+${share}%\\s+([\\d.]+)(us|ms|s|m)$`, 'm').exec(output) ?? []
  return Number(value || Number.NaN) * (inMs[unit] ?? Number.NaN)
}

/** wrk builds the body once; ten megabytes would not fit on its command line. */
function uploadScript(folder: string): string {
  const file = join(folder, 'upload.lua')
  writeFileSync(file, `wrk.method = "POST"\nwrk.body = string.rep("adit", ${BULK_BYTES / 4})\n`)
  return file
}

/** Requests over kept-alive connections, one at a time on each, for some seconds. */
export async function wrk(address: Address, work: HttpWork, folder: string): Promise<HttpFigures> {
  const { path, connections, seconds, tls = false, headers = [], upload = false } = work
  const script = upload ? uploadScript(folder) : work.script
  const line = `-t1 -c${connections} -d${seconds}s --timeout 30s --latency ${tls ? 'https' : 'http'}://127.0.0.1:${address.port}${path}`
  const fields = [`Host: ${address.host}`, ...headers].flatMap(header => ['-H', header])
  const output = await outputOf(needTool('wrk'), [
    ...splitArguments(line),
    ...fields,
    ...(script === undefined ? [] : ['-s', script]),
  ])
  const refused = /Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1]
  if (refused !== undefined) throw new Error(`${refused} requests were refused`)
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
  if (!(perSecond > 0)) throw new Error(`no request was answered: ${output}`)
  return { perSecond, p50Ms: latency(output, '50'), p99Ms: latency(output, '99') }
}

export interface Http2Work {
  readonly path: string
  readonly connections: number
  /** Requests at a time on each connection. */
  readonly streams: number
  readonly seconds: number
}

/** HTTP/2 requests per second. */
export async function h2load(address: Address, work: Http2Work): Promise<number> {
  const { path, connections, streams, seconds } = work
  const line = `-t1 -c${connections} -m${streams} -D${seconds} --connect-to=127.0.0.1:${address.port} https://${address.host}:${address.port}${path}`
  const output = await outputOf(needTool('h2load'), splitArguments(line))
  const [, perSecond = ''] = /finished in .*?, ([\d.]+) req\/s/.exec(output) ?? []
  const [, good = '0'] = /status codes: (\d+) 2xx/.exec(output) ?? []
  if (!output.includes('Application protocol: h2') || Number(good) === 0)
    throw new Error(`no HTTP/2 answer: ${output.slice(0, 2000)}`)
  return Number(perSecond)
}
