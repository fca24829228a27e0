import { unusable } from '#events/destinations/failures.ts'

export interface Arn {
  readonly region: string
  /** The domain of this AWS partition. */
  readonly suffix: string
  readonly resource: string
}

/** Parses an ARN; only letters, digits and hyphens get into URLs. */
export function arnOf(text: string, service: string): Arn {
  const [, partition, named, region, resource] =
    /^arn:(aws[a-z-]{0,20}):([a-z]{1,32}):([a-z0-9-]{1,32}):\d{12}:(.{1,1024})$/.exec(text) ?? []
  if (named !== service || region === undefined || resource === undefined)
    throw unusable(`The destination's ARN is not one of ${service}.`)
  return { region, resource, suffix: partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com' }
}
