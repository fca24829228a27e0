import { Secret } from '#base/secrets.ts'
import type { DestinationParts } from '#events/destination.ts'
import type { Arn } from '#events/destinations/aws/arn.ts'
import type { AwsKeys } from '#events/destinations/aws/signature.ts'
import { AssumedRole } from '#events/destinations/aws/assumed-role.ts'
import { unusable } from '#events/destinations/failures.ts'
import type { EventTarget } from '#events/destinations/target.ts'

/** The keys for signing AWS requests. */
export interface AwsCredentials {
  keys(signal: AbortSignal): Promise<AwsKeys>
  /** The service reports that they are no longer valid. */
  forget(): void
}

/** The server's own, from the standard environment variables. */
function ownKeys(environment: NodeJS.ProcessEnv = process.env): AwsKeys {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key, AWS_SESSION_TOKEN: token } = environment
  if (!id || !key)
    throw unusable(
      'To assume a role the server needs keys of its own: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set.',
    )
  return {
    accessKeyId: id,
    secretAccessKey: new Secret(key),
    ...(token && { sessionToken: new Secret(token) }),
  }
}

export function credentialsOf(
  { role, creds }: NonNullable<EventTarget['kinesis']>['auth'],
  arn: Arn,
  parts: DestinationParts,
): AwsCredentials {
  if (role) return new AssumedRole(role.role_arn, arn, { ...parts, ownKeys })
  if (!creds) throw unusable('The destination has neither a role nor keys.')
  const keys = {
    accessKeyId: creds.aws_access_key_id,
    secretAccessKey: new Secret(creds.aws_secret_access_key),
  }
  return { keys: () => Promise.resolve(keys), forget: () => undefined }
}
