import { writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import type { BareRoutesAnswer, BareRoutesJob } from '../bare-routes-program.ts'
import { rounds } from '../interleave.ts'
import { newCertificate } from '../peers/nginx.ts'
import { ask, program } from '../programs.ts'
import type { RecompiledAnswer, RecompiledJob } from '../recompiled-program.ts'
import type { Row } from '../row.ts'
import { compareRates, type Rated } from './rated.ts'
import { Site } from './site.ts'

const EDGES = 1000
const ROUTES_EACH = 10
/** Routes of an edge that lead through the tunnel; the others respond themselves. */
const TUNNELLED = ROUTES_EACH / 2
const CHANGES = 5

const hostAt = (edge: number): string => `edge-${edge}.example.test`
const pathAt = (route: number): string => `/small/${route}`
const count = (most: number): number[] => Array.from({ length: most }, (_, at) => at)

interface Crowd {
  readonly site: Site
  readonly edges: number
  /** Ids of the routes of the first edge. */
  readonly first: readonly string[]
  /** Ids of two backends with fixed responses. */
  readonly answers: readonly [string, string]
}

/** A site with so many edges of ten routes each. */
async function crowd(dataDir: string, service: number, edges: number): Promise<Crowd> {
  const site = await Site.start(dataDir, service)
  const { world, group } = site
  const answers = [await world.fixedResponse('one'), await world.fixedResponse('two')] as const
  const names = count(edges).map(hostAt)
  await site.makeAll(names.map(domain => ['/reserved_domains', { domain }] as const))
  const made = names.map(name => ['/edges/https', { hostports: [`${name}:443`] }] as const)
  const ids = await site.makeAll(made)
  const routes = ids.flatMap(id =>
    count(ROUTES_EACH).map(at => {
      const backend_id = at < TUNNELLED ? group : answers[0]
      const body = { match_type: 'path_prefix', match: pathAt(at), backend: { backend_id } }
      return [`/edges/https/${id}/routes`, body] as const
    }),
  )
  const routeIds = await site.makeAll(routes)
  await site.answers(`${hostAt(0)}${pathAt(0)}`)
  const first = routeIds.slice(0, ROUTES_EACH).map((id, at) => `${routes[at]?.[0]}/${id}`)
  return { site, edges, first, answers }
}

/** The same with hosts and paths of a bare server: the limit of the HTTP/1 of the gateway. */
async function bareRoutes(folder: string, edges: number): Promise<Rated & AsyncDisposable> {
  const child = program('bare-routes-program.ts')
  const [hosts, paths] = [count(edges).map(hostAt), count(ROUTES_EACH).map(pathAt)]
  const identity = await newCertificate(join(folder, `bare-${edges}`))
  const { port } = await ask<BareRoutesAnswer>(child, { ...identity, hosts, paths } satisfies BareRoutesJob)
  return {
    site: { pid: child.pid ?? -1 },
    address: { port, host: hostAt(0) },
    path: '/',
    script: script(join(folder, `bare-${edges}.lua`), hosts, paths.slice(TUNNELLED)),
    [Symbol.asyncDispose]: async () => void child.kill(),
  }
}

/** A wrk script that requests all pairs of a host and a path in random order. */
function script(file: string, hosts: readonly string[], paths: readonly string[]): string {
  const list = (texts: readonly string[]): string => `{${texts.map(text => JSON.stringify(text)).join(',')}}`
  writeFileSync(
    file,
    `local hosts, paths, requests, at = ${list(hosts)}, ${list(paths)}, {}, 0
function init()
  for _, host in ipairs(hosts) do
    for _, path in ipairs(paths) do requests[#requests + 1] = wrk.format("GET", path, { Host = host }) end
  end
  for last = #requests, 2, -1 do
    local other = math.random(last)
    requests[last], requests[other] = requests[other], requests[last]
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
`,
  )
  return file
}

/** From the request for a route change to the first request that it affects. */
async function changeMs({ site, first, answers }: Crowd): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const address = `${hostAt(0)}${pathAt(ROUTES_EACH - 1)}`
  const text = async (): Promise<string> => (await site.world.ask(address, { agent })).text
  const times: number[] = []
  for (let change = 0; change < rounds * CHANGES; change++) {
    const before = await text()
    const backend_id = before === 'one' ? answers[1] : answers[0]
    const start = performance.now()
    const changed = site.world.change(first[ROUTES_EACH - 1] ?? '', { backend: { backend_id } })
    while ((await text()) === before);
    times.push(performance.now() - start)
    await changed
  }
  agent.destroy()
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

/** How many routes are recompiled when one of them changes; measured in a server on the same data. */
async function recompiled(dataDir: string, { edges, first, answers }: Crowd): Promise<Row> {
  const child = program('recompiled-program.ts')
  try {
    const job: RecompiledJob = {
      dataDir,
      hosts: count(edges).map(hostAt),
      paths: count(ROUTES_EACH).map(pathAt),
      change: [first[0] ?? '', { backend: { backend_id: answers[1] } }],
    }
    const { before, after } = await ask<RecompiledAnswer>(child, job)
    return {
      name: 'routes compiled after a change of one',
      ours: String(after),
      peer: `${before} in all`,
      figure: after,
      target: { atMost: 1 },
    }
  } finally {
    child.kill()
  }
}

/** The cost of the number of routes. */
export async function* lookup(folder: string, service: number): AsyncGenerator<Row> {
  const dataDir = join(folder, 'many')
  const many = await crowd(dataDir, service, EDGES)
  {
    await using sites = new AsyncDisposableStack()
    sites.use(many.site)
    const few = await crowd(join(folder, 'few'), service, 1)
    sites.use(few.site)
    const [tunnelled, own] = [count(ROUTES_EACH).slice(0, TUNNELLED), count(ROUTES_EACH).slice(TUNNELLED)]
    const routes = `${EDGES * ROUTES_EACH} routes on ${EDGES} edges, vs ${ROUTES_EACH}`
    const of = ({ site }: Crowd, hosts: number, paths: readonly number[]) => ({
      site,
      address: site.addressOf(hostAt(0)),
      path: '/',
      script: script(join(folder, `${hosts}-${paths[0]}.lua`), count(hosts).map(hostAt), paths.map(pathAt)),
    })
    const bareSpread = sites.use(await bareRoutes(folder, EDGES))
    const bareStill = sites.use(await bareRoutes(folder, 1))
    yield* compareRates(
      {
        many: of(many, 1, tunnelled),
        few: of(few, 1, tunnelled),
        spread: of(many, EDGES, own),
        still: of(few, 1, own),
        bareSpread,
        bareStill,
      },
      [
        { name: `${routes}, the same requests`, ours: 'many', peer: 'few', atLeast: 0.95 },
        {
          name: `${routes}, requests to half of all, fixed answers`,
          ours: 'spread',
          peer: 'still',
          atLeast: 0.85,
        },
        {
          name: `bare HTTP/1 server, ${routes}, requests to half of all`,
          ours: 'bareSpread',
          peer: 'bareStill',
        },
      ],
    )
    yield {
      name: `a change of one of ${EDGES * ROUTES_EACH} routes, until it acts`,
      ours: '',
      peer: '',
      figure: await changeMs(many),
      unit: 'ms',
      target: { atMost: 100 },
    }
  }
  yield await recompiled(dataDir, many)
}
