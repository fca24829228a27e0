/** The texts around the id, the moment and the object of an event. All events of a type share them. */
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
