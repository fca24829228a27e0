import { DeliveryError, type Destination, type DestinationParts } from '#events/destination.ts'
import { EventFile } from '#events/destinations/event-file.ts'
import { linesOf } from '#events/line-event.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const MAX_EVENTS = 5000
const MAX_BATCH = 4 * 1_048_576
const MAX_FILE = 64 * 1_048_576
const FILES = 5

/** JSON lines in a file of the data folder, which is rotated when it is full. */
export function file(
  { path }: TargetOf<'file'>,
  { dataDir }: DestinationParts,
  { maxBytes = MAX_FILE }: { readonly maxBytes?: number } = {},
): Destination {
  const lines = new EventFile({ dataDir, path, maxBytes, files: FILES })
  return {
    maxEvents: MAX_EVENTS,
    maxBytes: MAX_BATCH,
    async send(batch) {
      await lines.append(linesOf(batch)).catch((cause: unknown) => {
        if (cause instanceof DeliveryError) throw cause
        const { code = 'unknown' } = cause as NodeJS.ErrnoException
        throw new DeliveryError(`The file cannot be written (${code}).`, { cause })
      })
    },
    close: () => void lines.close(),
  }
}
