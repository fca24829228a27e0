import { DeliveryError, type Destination } from '#events/destination.ts'

/** Standard output, a line for each event. */
export function debug(): Destination {
  return {
    maxEvents: 1000,
    maxBytes: 1_048_576,
    send: batch =>
      new Promise((resolve, reject) => {
        const lines = batch.map(({ body }) => `${body}\n`).join('')
        process.stdout.write(lines, cause =>
          cause ? reject(new DeliveryError('Standard output is closed.', { cause })) : resolve(),
        )
      }),
    close: () => undefined,
  }
}
