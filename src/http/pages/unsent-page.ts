import type { Hint } from '#base/hints/hint.ts'
import type { PageFormat } from '#http/pages/format.ts'
import type { HtmlPage } from '#http/pages/html.ts'

/** A page of the gateway before it is sent: what it shows depends on its request and its client. */
export interface UnsentPage {
  readonly content: HtmlPage
  readonly format: PageFormat
  /** The request is HEAD: no body follows. */
  readonly isHead: boolean
  /** Set for an error; other pages show no request id and no hint. */
  readonly error?: {
    readonly hint: Hint
    /** The text for clients that see no hints. */
    readonly brief: string
    /** Placeholders of commands. */
    readonly values: Readonly<Record<'name' | 'labels', string>>
  }
}
