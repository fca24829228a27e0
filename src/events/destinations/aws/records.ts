import { DeliveryError, type OutgoingEvent } from '#events/destination.ts'
import { idsOf } from '#events/destinations/split-oversized.ts'
import { plainWord } from '#events/destinations/failures.ts'

interface RecordAnswer {
  readonly ErrorCode?: unknown
}

/** Firehose and Kinesis report each record separately: failed ones are sent again. */
export function checkRecords(service: string, events: readonly OutgoingEvent[], answers: unknown): void {
  if (!Array.isArray(answers) || answers.length !== events.length)
    throw new DeliveryError(`${service} did not report on each record.`)
  const codes = (answers as (RecordAnswer | null)[]).map(answer => answer?.ErrorCode ?? undefined)
  const failed = codes.filter(code => code !== undefined)
  if (failed.length === 0) return
  const taken = idsOf(events.filter((_, at) => codes[at] === undefined))
  const reason = plainWord(failed[0]) ?? 'no reason'
  throw new DeliveryError(
    `${service} did not accept ${failed.length} of ${events.length} records (${reason}).`,
    {
      taken,
    },
  )
}
