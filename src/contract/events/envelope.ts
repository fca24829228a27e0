/** The texts around the id, the time and the object of an event, shared by all events of a type. */
export interface EnvelopeParts {
  readonly beforeId: string
  readonly beforeAt: string
  readonly beforeObject: string
  readonly end: string
}

export const envelopeParts = (type: string, accountId: string): EnvelopeParts => ({
  beforeId: '{"event_id":"',
  beforeAt: `","event_type":"${type}","event_timestamp":"`,
  beforeObject: `","account_id":"${accountId}","object":`,
  end: '}',
})
