import type { ApiAdmission } from '#api/api-admission.ts'
import type { Call } from '#api/call.ts'
import type { HttpServer } from '#api/http-server.ts'
import { readFilters } from '#api/paging.ts'
import { ownerLimit, requireAccess } from '#api/records.ts'
import type { Live } from '#api/live.ts'
import { ChangeFeed } from '#api/streams/change-feed.ts'
import { OnlineFeed } from '#api/streams/online-feed.ts'
import { OpenStreams, type Feed } from '#api/streams/open-streams.ts'
import { showLive } from '#api/live-view.ts'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { kindByName, kindNamed } from '#contract/kinds/index.ts'
import { request } from '#contract/kinds/request.ts'
import { streams, type Change } from '#contract/streams.ts'
import type { RowChange, Store } from '#store/store.ts'

interface StreamsOptions {
  readonly store: Store
  readonly live: Pick<Live, 'watchOnline'>
  readonly log: Log
  readonly admission: ApiAdmission
}

type Filters = Readonly<Record<string, string>>

const changeOf: Readonly<Record<RowChange['op'], Change['change']>> = {
  insert: 'created',
  update: 'updated',
  remove: 'deleted',
}

/** The streams of the API. */
export function addStreams(server: HttpServer, { store, live, log, admission }: StreamsOptions): void {
  const changes = new ChangeFeed(store, log)
  const online = new OnlineFeed(live)
  const open = new OpenStreams({
    identify: httpCall => admission.identify(httpCall),
    changes,
    closing: server.closing,
    log,
  })

  const requestFeed = (call: Call, filters: Filters): Feed => {
    requireAccess(request, call)
    return stream =>
      call.live.watchRequests(filters, {
        seen: body =>
          void inBackground({ task: 'streams', log }, async () => {
            const shown = await showLive(request, body, call)
            stream.send(streams.requests.event, JSON.stringify(shown), String(body['id']))
          }),
        dropped: count => stream.dropped(count),
      })
  }

  const changeFeed = (call: Call, { kind: only }: Filters): Feed => {
    const isWanted = (kind: string): boolean => only === undefined || only === kind
    // All of a kind have the same readers: what is online has no rows whose owner could be asked.
    const isShown = (kind: string): boolean => isWanted(kind) && ownerLimit(kindNamed(kind), call) === null
    return stream => {
      const send = (change: Change): void => stream.send(streams.changes.event, JSON.stringify(change))
      const stops = [
        changes.listen(change => {
          if (!isWanted(change.kind)) return
          void inBackground({ task: 'streams', log }, async () => {
            const { kind, id, op } = change
            if (await mayRead(change, call)) send({ kind, id, change: changeOf[op] })
          })
        }),
        online.listen({
          changed: change => isShown(change.kind) && send(change),
          dropped: (kind, count) => isShown(kind) && stream.dropped(count),
        }),
      ]
      return () => stops.forEach(stop => stop())
    }
  }

  const feeds: Record<keyof typeof streams, (call: Call, filters: Filters) => Feed> = {
    requests: requestFeed,
    changes: changeFeed,
  }
  for (const name of ['requests', 'changes'] as const)
    server.on('GET', streams[name].path, async httpCall => {
      const call = await admission.admit(httpCall)
      const filters = readFilters(streams[name].filters, httpCall.request.url)
      await changes.ready()
      return open.serve(httpCall, call, feeds[name](call, filters))
    })
}

/** Members see changes of what they may read; of kinds that belong to one owner, only their own that still exist. */
async function mayRead({ kind: name, id }: RowChange, call: Call): Promise<boolean> {
  const kind = kindByName(name)
  if (kind === undefined) return false
  const owner = ownerLimit(kind, call)
  return owner === null || (!kind.adminOnly && (await call.store.get(id))?.parent === owner)
}
