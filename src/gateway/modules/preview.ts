import type { ErrorName } from '#base/errors.ts'
import type { Fields } from '#http/fields.ts'
import type { Handler } from '#http/exchange.ts'

/** What a decision without effects may depend on. */
export interface PreviewedRequest {
  readonly ip: string
  readonly fields: Fields
}

/** The error with which a handler would respond; undefined if it passes the request on. */
export type Preview = (request: PreviewedRequest) => Promise<ErrorName | undefined>

const previews = new WeakMap<Handler, Preview>()

/** For a handler whose decision has no effects: it can be known without a request. */
export function withPreview(handler: Handler, preview: Preview): Handler {
  previews.set(handler, preview)
  return handler
}

export const previewOf = (handler: Handler): Preview | undefined => previews.get(handler)
