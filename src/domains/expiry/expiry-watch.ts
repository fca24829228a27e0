import { eventOf } from '#api/events.ts'
import type { Call, Deps } from '#api/call.ts'
import { changeQueue } from '#api/change-queue.ts'
import type { Lifetime } from '#acme/renewal.ts'
import { guarded, inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { tlsCertificate as kind } from '#contract/kinds/tls-certificate.ts'
import type { Follower, Source, SourceChange, SourceRow } from '#registry/records/source.ts'
import {
  lifeOf,
  useOf,
  type StoredCertificate,
  type CertificateUse,
} from '#domains/expiry/certificate-use.ts'
import { keepStarting, type Stop } from '#base/keep-starting.ts'
import { systemCall } from '#api/system-call.ts'
import { nextStageAt, readStage, stageToReport, type Stage } from '#domains/expiry/stages.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Row, Write } from '#store/store.ts'

interface ExpiryWatchOptions {
  readonly api: Deps
  readonly source: Source
  readonly log: Log
}

export interface ExpiryHandle {
  /** `base` is the API URL in events. */
  start(base: string): Promise<void>
  close(): Promise<void>
}

interface Known {
  readonly life: Lifetime
  /** When it is to be looked at. */
  readonly dueAt: number
}

const TROUBLE_MS = 30_000
/** Node timers are limited to 24 days, and a clock may be changed. */
const LONGEST_SLEEP_MS = 3_600_000
/** At most so many domains of one certificate are listed. */
const MAX_USERS = 100

/** The advice in the log, for each use. */
const advice: Readonly<Record<CertificateUse['by'], string>> = {
  unused: 'it is unused: delete it, or upload a new one',
  leftover: 'nothing: it is deleted automatically',
  operator:
    'upload a new one and set it as the certificate of its domains, or have certificates issued for them',
  server: 'its renewal keeps failing: see certificate_management_status of its domains for what is wrong',
}

/** Reports expiring certificates, once it is started. */
export function openExpiry({ api, source, log }: ExpiryWatchOptions): ExpiryHandle {
  let stop: Stop = async () => undefined
  return {
    async start(base) {
      stop = await keepStarting({ task: 'expiry', log }, async () => {
        const watch = new ExpiryWatch(systemCall(api, base), log)
        await watch.follow(source)
        return () => watch.close()
      })
    },
    close: () => stop(),
  }
}

/**
 * Reports certificates that expire soon, with an event and a log line for each stage. The stage is stored in the
 * certificate together with the event, so each is reported once, across restarts and servers.
 */
class ExpiryWatch implements Follower {
  readonly #call: Call
  readonly #log: Log
  readonly #known = new Map<string, Known>()
  #unfollow: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #closed = false

  constructor(call: Call, log: Log) {
    this.#call = call
    this.#log = log
  }

  async follow(source: Source): Promise<void> {
    this.#unfollow = await source.watch([kind.name], this)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unfollow?.()
    clearTimeout(this.#timer)
    await this.#running
  }

  snapshot(rows: readonly SourceRow[]): void {
    this.#known.clear()
    for (const row of rows) this.#learn(row)
    this.#wake()
  }

  changes(batch: readonly SourceChange[]): void {
    for (const change of batch) {
      if (change.op === 'put') this.#learn(change.row)
      else this.#known.delete(change.id)
    }
    this.#wake()
  }

  /** Most certificates need no report, which is known without reading anything. */
  #learn({ id, body }: SourceRow): void {
    guarded({ task: 'expiry', log: this.#log, about: { certificate: id } }, () =>
      this.#note(id, body as StoredCertificate),
    )
  }

  #note(id: string, certificate: StoredCertificate): void {
    const life = lifeOf(certificate)
    const now = this.#call.now()
    const lastStage = readStage(certificate.expiry_told)
    const isDue = stageToReport(life, { now, lastStage, renewsAt: undefined }) !== undefined
    this.#known.set(id, { life, dueAt: isDue ? now : nextStageAt(life, now) })
  }

  #wake(): void {
    if (this.#closed || this.#running !== undefined) return
    clearTimeout(this.#timer)
    let next = Infinity
    for (const { dueAt } of this.#known.values()) next = Math.min(next, dueAt)
    const wait = Math.min(Math.max(next - this.#call.now(), 0), LONGEST_SLEEP_MS)
    this.#timer = setTimeout(() => this.#run(), wait).unref()
  }

  #run(): void {
    this.#running = inBackground({ task: 'expiry', log: this.#log }, () => this.#check()).finally(() => {
      this.#running = undefined
      this.#wake()
    })
  }

  /** One after another: there are few, and nothing waits. */
  async #check(): Promise<void> {
    for (const [id, { life, dueAt }] of this.#known) {
      const now = this.#call.now()
      if (this.#closed) return
      if (dueAt > now) continue
      this.#known.set(id, { life, dueAt: nextStageAt(life, now) })
      try {
        await changeQueue.run(id, () => retryOnConflict(() => this.#attend(id), alwaysChanged))
      } catch (error) {
        this.#log.warn({ error, certificate: id }, 'reporting the expiry of a certificate failed')
        this.#known.set(id, { life, dueAt: now + TROUBLE_MS })
      }
    }
  }

  async #attend(id: string): Promise<void | typeof CONFLICT> {
    const { store, now } = this.#call
    const row = await store.get(id)
    if (row?.kind !== kind.name) return undefined
    const certificate = JSON.parse(row.body) as StoredCertificate
    const users = await store.referrers(id, MAX_USERS)
    const use = useOf(certificate, users)
    const lastStage = readStage(certificate.expiry_told)
    const stage = stageToReport(lifeOf(certificate), { now: now(), lastStage, renewsAt: use.renewsAt })
    if (stage === undefined || use.by === 'leftover') return undefined
    const outcome = await store.commit([
      // A domain that has just got its next certificate needs no warning.
      ...users.map(user => ({ op: 'expect', id: user.id, version: user.version }) as const),
      ...(await this.#writes(row, certificate, stage)),
    ])
    return outcome.ok ? this.#logExpiry(stage, certificate, use) : CONFLICT
  }

  async #writes(row: Row, certificate: StoredCertificate, stage: Stage): Promise<Write[]> {
    // Only this changes: the key stays encrypted.
    const body = JSON.stringify({ ...certificate, expiry_told: String(stage) })
    return [
      { op: 'update', entry: { row: { ...row, version: row.version + 1, body }, refs: [], claims: [] } },
      ...(await eventOf(kind, certificate, stage === 0 ? 'expired' : 'expiring', this.#call)),
    ]
  }

  #logExpiry(stage: Stage, certificate: StoredCertificate, { names, by }: CertificateUse): void {
    const { id, not_after: ends } = certificate as StoredCertificate & { readonly id: string }
    const facts = { certificate: id, names, ends, todo: advice[by] }
    if (stage === 0) this.#log.error(facts, 'certificate has expired')
    else this.#log.warn(facts, 'certificate expires soon')
  }
}

function alwaysChanged(): never {
  throw new Error('Others changed it each time.')
}
