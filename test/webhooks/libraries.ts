import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** The parts that the tests use of libraries which come without types, or whose types do not fit ours. */
interface Hygraph {
  generateWebhookSignature(request: { rawPayload: string; secret: string }): string
  verifyWebhookSignature(request: { rawPayload: string; secret: string; signature: string }): boolean
}

interface SendGrid {
  readonly EventWebhook: new () => {
    convertPublicKeyToECDSA(key: string): object
    verifySignature(key: object, payload: Buffer, signature: string, timestamp: string): boolean
  }
}

interface PusherToken {
  sign(text: string): string
}

type SnsValidator = new (host: RegExp) => {
  validate(message: object, done: (error: Error | null) => void): void
}

interface Worldline {
  newSignatureValidator(store: { getSecretKey(id: string): Promise<string> }): {
    validate(body: Buffer, headers: Readonly<Record<string, string>>): Promise<void>
  }
}

export const hygraph = load('@hygraph/utils') as Hygraph
export const sendgridLibrary = load('@sendgrid/eventwebhook') as SendGrid
export const { Token: PusherToken } = load('pusher') as {
  readonly Token: new (key: string, secret: string) => PusherToken
}
export const SnsMessageValidator = load('sns-validator') as SnsValidator
export const worldlineLibrary = load('connect-sdk-nodejs/lib/webhooks/validation.js') as Worldline
