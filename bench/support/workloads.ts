import { setTimeout } from 'node:timers/promises'
import { type Figures, seconds } from './interleave.ts'
import type { Contender, Address } from './peers/contender.ts'
import { BULK_BYTES } from './peers/nginx.ts'
import type { GrpcFigures, GrpcJob } from './grpc-load-program.ts'
import { cpuSeconds, residentOfAll } from './processes.ts'
import { ask, program } from './programs.ts'
import { perSecond, type Row } from './row.ts'
import type { TcpFigures, TcpJob } from './tcp-load-program.ts'
import { h2load, wrk, type Http2Work, type HttpWork } from './wrk.ts'

type Target = NonNullable<Row['target']>

/** One figure of a workload, and its target ratio to each peer. */
export interface Figure {
  readonly key: string
  readonly label?: string
  readonly show: (value: number) => string
  readonly targets?: Readonly<Record<string, Target>>
  /** For peers that `targets` does not name. */
  readonly others?: Target
  /** The peers it is compared with; default all. */
  readonly only?: readonly string[]
}

/** A figure of ours that no peer has. */
interface Absolute {
  readonly key: string
  readonly label: string
  readonly unit: NonNullable<Row['unit']>
  readonly target: Target
}

export interface Workload {
  readonly name: string
  readonly protocol: 'http' | 'https' | 'http2' | 'tcp' | 'grpc'
  readonly measure: (address: Address, contender: Contender, folder: string) => Promise<Figures>
  readonly shown: readonly Figure[]
  readonly absolute?: readonly Absolute[]
}

const atLeast = (value: number): Target => ({ atLeast: value })
const atMost = (value: number): Target => ({ atMost: value })
const milliseconds = (value: number): string => `${value.toFixed(2)} ms`
const bulkRate = (value: number): string => `${Math.round(value / 1e6).toLocaleString('en')} MB/s`
const NGINX = ['nginx', 'nginx -> nginx']

const ahead = { others: atLeast(1) } as const
const requests = (nginx: number, twice: number, frp = 1): Figure => ({
  key: 'perSecond',
  show: perSecond,
  targets: { nginx: atLeast(nginx), 'nginx -> nginx': atLeast(twice), frp: atLeast(frp) },
  ...ahead,
})
const p50: Figure = { key: 'p50Ms', label: 'p50', show: milliseconds, only: NGINX }
const p99: Figure = { key: 'p99Ms', label: 'p99', show: milliseconds, only: NGINX }
const p99Within: Figure = { ...p99, targets: { nginx: atMost(2.5) } }
const bytes = (targets: Figure['targets'] = {}, rest: Pick<Figure, 'others'> = ahead): Figure => ({
  key: 'bytesPerSecond',
  show: bulkRate,
  targets,
  ...rest,
})

/** What a browser sends with every request. */
const BROWSER = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Language: en-GB,en;q=0.9,de;q=0.7',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Cache-Control: max-age=0',
  'Sec-CH-UA: "Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"',
  'Sec-CH-UA-Mobile: ?0',
  'Sec-CH-UA-Platform: "Linux"',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
  'Sec-Fetch-Site: same-origin',
  'Sec-Fetch-User: ?1',
  'Upgrade-Insecure-Requests: 1',
  'Referer: https://bench.adit.localhost/some/page?with=a&query=string',
  `Cookie: session=${'0123456789abcdef'.repeat(8)}; theme=dark; consent=${'x'.repeat(64)}`,
]

/** Runs a workload and adds the CPU time that a request cost the contender. */
async function withCpu<F extends { readonly perSecond: number }>({ pids }: Contender, run: () => Promise<F>) {
  const before = pids.map(pid => cpuSeconds([pid]))
  const figures = await run()
  const spent = pids.map((pid, at) => cpuSeconds([pid]) - (before[at] ?? 0))
  const each = (cpu = 0) => cpu / (figures.perSecond * seconds)
  return {
    ...figures,
    cpu: each(spent.reduce((sum, part) => sum + part, 0)) * 10_000,
    serverUs: each(spent[0]) * 1e6,
    agentUs: each(spent[1]) * 1e6,
  }
}

const http =
  (work: Omit<HttpWork, 'seconds'>): Workload['measure'] =>
  async (address, contender, folder) => {
    const figures = await withCpu(contender, () => wrk(address, { ...work, seconds }, folder))
    return {
      ...figures,
      resident: residentOf(contender),
      bytesPerSecond: figures.perSecond * BULK_BYTES,
    }
  }

/** The memory of the server and its agent; further agents serve other protocols. */
const residentOf = ({ pids }: Contender): number => residentOfAll(pids.slice(0, 2))

const atRest: Workload['measure'] = async (_door, contender) => {
  await setTimeout(500)
  return { resident: residentOf(contender) }
}

const grpc =
  (work: GrpcJob['work'], calls: number): Workload['measure'] =>
  async (_door, contender) => {
    const address = contender.grpc
    if (address === undefined) throw new Error('it has no address for gRPC')
    const child = program('grpc-load-program.ts')
    try {
      const job: GrpcJob = { ...address, work, calls, milliseconds: seconds * 1000 }
      return { ...(await withCpu(contender, () => ask<GrpcFigures>(child, job))) }
    } finally {
      child.kill()
    }
  }

const http2 =
  (work: Omit<Http2Work, 'seconds'>): Workload['measure'] =>
  async (address, contender) => {
    const figures = await withCpu(contender, async () => ({
      perSecond: await h2load(address, { ...work, seconds }),
    }))
    return { ...figures, bytesPerSecond: figures.perSecond * BULK_BYTES }
  }

/** The latency of a small request during four bulk transfers. */
const besideBulk: Workload['measure'] = async (address, _contender, folder) => {
  const bulk = wrk(address, { path: '/bulk', connections: 4, seconds: seconds + 1 }, folder)
  // Errors of the bulk transfers are reported when they are awaited below.
  bulk.catch(() => undefined)
  await setTimeout(500)
  const { p50Ms } = await wrk(address, { path: '/', connections: 1, seconds }, folder)
  await bulk
  return { p50Ms }
}

const tcp =
  (work: TcpJob['work'], connections: number): Workload['measure'] =>
  async ({ port }) => {
    const child = program('tcp-load-program.ts')
    try {
      const job: TcpJob = { port, connections, work, milliseconds: seconds * 1000 }
      const { perSecond: rate } = await ask<TcpFigures>(child, job)
      return { perSecond: rate, bytesPerSecond: rate }
    } finally {
      child.kill()
    }
  }

const roundTrips = (stunnel: number, ssh: number): Figure => ({
  key: 'perSecond',
  show: perSecond,
  targets: { 'stunnel pair': atLeast(stunnel), 'ssh -R': atLeast(ssh) },
  ...ahead,
})
const cpu: Figure = {
  key: 'cpu',
  label: 'CPU/10k',
  show: value => `${value.toFixed(2)} s`,
}
const memory: Figure = {
  key: 'resident',
  label: 'memory',
  show: value => `${Math.round(value / 1e6)} MB`,
}
const small = (connections: number) => http({ path: '/', connections })

export const workloads: readonly Workload[] = [
  { name: 'at rest, server and agent', protocol: 'http', measure: atRest, shown: [memory] },
  {
    name: 'small answers, 1 connection',
    protocol: 'http',
    measure: small(1),
    shown: [requests(0.5, 0.85), p50, p99],
  },
  {
    name: 'small answers, 64 connections',
    protocol: 'http',
    measure: small(64),
    shown: [requests(0.75, 1, 2.5), p50, p99Within, cpu, memory],
    absolute: [
      { key: 'serverUs', label: 'CPU of the server', unit: 'us', target: atMost(14) },
      { key: 'agentUs', label: 'CPU of the agent', unit: 'us', target: atMost(8) },
    ],
  },
  {
    name: 'small answers, 256 connections',
    protocol: 'http',
    measure: small(256),
    shown: [requests(0.85, 1.2, 2.5), p50, p99Within],
  },
  {
    name: 'headers of a browser, 64 connections',
    protocol: 'http',
    measure: http({ path: '/', connections: 64, headers: BROWSER }),
    shown: [requests(0.6, 1)],
  },
  {
    name: '10 MiB down, 4 connections',
    protocol: 'http',
    measure: http({ path: '/bulk', connections: 4 }),
    shown: [bytes({ nginx: atLeast(0.45), 'nginx -> nginx': atLeast(0.4), frp: atLeast(1.2) })],
  },
  {
    name: '10 MiB up, 4 connections',
    protocol: 'http',
    measure: http({ path: '/up', connections: 4, upload: true }),
    shown: [bytes({ nginx: atLeast(0.6), 'nginx -> nginx': atLeast(0.6), frp: atLeast(1.2) })],
  },
  {
    name: 'small beside four of 10 MiB',
    protocol: 'http',
    measure: besideBulk,
    shown: [{ key: 'p50Ms', label: 'p50', show: milliseconds, targets: { 'nginx -> nginx': atMost(0.5) } }],
  },
  {
    name: 'HTTPS, small, 64 connections',
    protocol: 'https',
    measure: http({ path: '/', connections: 64, tls: true }),
    shown: [requests(0.65, 1)],
  },
  {
    name: 'HTTPS, 10 MiB down, 4 connections',
    protocol: 'https',
    measure: http({ path: '/bulk', connections: 4, tls: true }),
    shown: [bytes({ nginx: atLeast(0.7) })],
  },
  {
    name: 'HTTPS, a handshake per request, 16',
    protocol: 'https',
    measure: http({ path: '/', connections: 16, tls: true, headers: ['Connection: close'] }),
    shown: [requests(0.5, 1)],
  },
  {
    name: 'HTTP/2, small, 16 connections of 8 streams',
    protocol: 'http2',
    measure: http2({ path: '/', connections: 16, streams: 8 }),
    shown: [requests(1, 1)],
    absolute: [
      { key: 'serverUs', label: 'CPU of the server', unit: 'us', target: atMost(18) },
      { key: 'agentUs', label: 'CPU of the agent', unit: 'us', target: atMost(8) },
    ],
  },
  {
    name: 'HTTP/2, 10 MiB down, 1 connection of 4 streams',
    protocol: 'http2',
    measure: http2({ path: '/bulk', connections: 1, streams: 4 }),
    shown: [bytes({ nginx: atLeast(0.7) })],
  },
  {
    name: 'gRPC, unary calls, 32 at a time',
    protocol: 'grpc',
    measure: grpc('unary', 32),
    shown: [requests(0.8, 1), cpu],
  },
  {
    name: 'gRPC, messages there and back, 32 streams',
    protocol: 'grpc',
    measure: grpc('stream', 32),
    shown: [requests(0.8, 1), cpu],
  },
  {
    name: 'TCP round trips, 1 connection',
    protocol: 'tcp',
    measure: tcp('echo', 1),
    shown: [roundTrips(0.9, 1.5)],
  },
  {
    name: 'TCP round trips, 64 connections',
    protocol: 'tcp',
    measure: tcp('echo', 64),
    shown: [roundTrips(2, 1.8)],
  },
  {
    name: 'TCP bulk, 4 connections',
    protocol: 'tcp',
    measure: tcp('bulk', 4),
    shown: [bytes({ 'stunnel pair': atLeast(1.1), frp: atLeast(1.1) })],
  },
]
