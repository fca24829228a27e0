import {
  DeliveryError,
  type Destination,
  type DestinationParts,
  type OutgoingEvent,
} from '#events/destination.ts'
import { arnOf } from '#events/destinations/aws/arn.ts'
import { credentialsOf } from '#events/destinations/aws/credentials.ts'
import { AwsError, AwsService } from '#events/destinations/aws/service.ts'
import { idsOf, sendWithoutOversized } from '#events/destinations/split-oversized.ts'
import type { TargetOf } from '#events/destinations/target.ts'

/** The service requires events in time order. */
interface LogEntry {
  readonly event: OutgoingEvent
  readonly timestamp: number
}

interface Rejected {
  readonly tooNewLogEventStartIndex?: number
  readonly tooOldLogEventEndIndex?: number
  readonly expiredLogEventEndIndex?: number
}

const STREAM = 'adit'
const MAX_EVENTS = 1000
/** Per-event overhead that the service counts. */
const EXTRA = 26
const MAX_CALL = 1_048_576
// A request that spans more than a day is rejected.
const MAX_SPAN_MS = 24 * 3_600_000 - 1000

/** CloudWatch Logs: one log stream, created if it does not exist. */
export function cloudwatchLogs(
  { auth, log_group_arn: group }: TargetOf<'cloudwatch_logs'>,
  parts: DestinationParts,
): Destination {
  const arn = arnOf(group, 'logs')
  const credentials = credentialsOf(auth, arn, parts)
  const service = new AwsService({ name: 'logs', api: 'Logs_20140328', arn, credentials, parts })
  const logGroupName = arn.resource.replace(/^log-group:/, '').replace(/:\*$/, '')
  const place = { logGroupName, logStreamName: STREAM }

  const put = async (entries: readonly LogEntry[], signal: AbortSignal): Promise<Rejected> => {
    const logEvents = entries.map(({ timestamp, event }) => ({ timestamp, message: event.body }))
    const call = () => service.call('PutLogEvents', { ...place, logEvents }, signal)
    const answer = await call().catch(async (error: unknown) => {
      if (!isType(error, 'ResourceNotFoundException')) throw error
      await service.call('CreateLogStream', place, signal).catch((failed: unknown) => {
        // Another server was faster.
        if (!isType(failed, 'ResourceAlreadyExistsException')) throw failed
      })
      return call()
    })
    return answer['rejectedLogEventsInfo'] ?? {}
  }

  return {
    maxEvents: MAX_EVENTS,
    maxBytes: MAX_CALL - MAX_EVENTS * EXTRA,
    send: (batch, signal) =>
      sendWithoutOversized(batch, { most: MAX_CALL - EXTRA, service: 'AWS logs' }, events =>
        putAll(events, entries => put(entries, signal), parts.now()),
      ),
    close: () => service.close(),
  }
}

const isType = (error: unknown, type: string): boolean => error instanceof AwsError && error.type === type

/** One request for each day. Accepted, too old and too new events are reported at the end. */
async function putAll(
  events: readonly OutgoingEvent[],
  put: (entries: readonly LogEntry[]) => Promise<Rejected>,
  now: number,
): Promise<void> {
  const taken = new Set<string>()
  for (const entries of daysOf(events, now)) {
    const rejected = await put(entries).catch((error: unknown) => {
      throw withTaken(error, taken)
    })
    for (const id of idsOf(acceptedOf(entries, rejected).map(({ event }) => event))) taken.add(id)
  }
  const left = events.length - taken.size
  if (left === 0) return
  const message = `AWS logs did not accept ${left} of ${events.length} events: they are too old or too new for it.`
  throw new DeliveryError(message, { permanent: true, taken })
}

function daysOf(events: readonly OutgoingEvent[], now: number): LogEntry[][] {
  const timeOf = (at: string): number => (Number.isNaN(Date.parse(at)) ? now : Date.parse(at))
  const entries = events
    .map(event => ({ event, timestamp: timeOf(event.at) }))
    .toSorted((left, right) => left.timestamp - right.timestamp)
  const days: LogEntry[][] = []
  for (const entry of entries) {
    const day = days.at(-1)
    if (day?.[0] && entry.timestamp - day[0].timestamp <= MAX_SPAN_MS) day.push(entry)
    else days.push([entry])
  }
  return days
}

function acceptedOf(entries: readonly LogEntry[], rejected: Rejected): readonly LogEntry[] {
  // Both ends are the first that was taken.
  const from = Math.max(rejected.tooOldLogEventEndIndex ?? 0, rejected.expiredLogEventEndIndex ?? 0)
  return entries.slice(from, rejected.tooNewLogEventStartIndex ?? entries.length)
}

function withTaken(error: unknown, taken: ReadonlySet<string>): unknown {
  if (!(error instanceof DeliveryError) || taken.size === 0) return error
  const { message, permanent, misconfigured, retryAfterMs, cause } = error
  return new DeliveryError(message, {
    permanent,
    misconfigured,
    taken,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}
