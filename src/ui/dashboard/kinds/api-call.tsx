import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Operation } from '#contract/operations.ts'
import { Dialog, Snippet } from '#ui/dashboard/shell/parts.tsx'
import { shellQuoted } from '#ui/shell-quoted.ts'

export interface CallParts {
  readonly operation: Operation
  /** The values of the path's parameters. */
  readonly params: readonly string[]
  readonly body?: unknown
}

const quoted = (value: string): string => (/^[\w@%+=:,./-]+$/.test(value) ? value : shellQuoted(value))

const dashed = (name: string): string => name.replaceAll('_', '-')

function curlOf({ operation, params, body }: CallParts, origin: string): string {
  const path = operation.params.reduce(
    (filled, name, at) => filled.replace(`{${name}}`, encodeURIComponent(params[at] ?? '')),
    operation.path,
  )
  return [
    `curl${operation.method === 'GET' ? '' : ` -X ${operation.method}`} ${quoted(origin + path)}`,
    `-H "Authorization: Bearer $ADIT_API_KEY"`,
    ...(body === undefined
      ? []
      : [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ')
}

function aditOf({ operation, params, body }: CallParts): string {
  const words = ['adit api', dashed(operation.collection), dashed(operation.word), ...params.map(quoted)]
  return [...words, ...(body === undefined ? [] : [`--json ${quoted(JSON.stringify(body))}`])].join(' ')
}

const CallText = (props: CallParts): JSX.Element => (
  <>
    <h3>curl</h3>
    <Snippet label="curl" text={curlOf(props, location.origin)} />
    <h3>adit</h3>
    <Snippet label="adit" text={aditOf(props)} />
  </>
)

/** The same for an action that a dialog confirms. */
export const CallDetails = (props: CallParts): JSX.Element => (
  <details>
    <summary>As API call</summary>
    <CallText {...props} />
  </details>
)

/** Shows the same call for a shell. */
export function CopyAsCall(props: CallParts): JSX.Element {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Copy as API call
      </button>
      {isOpen && (
        <Dialog label="API call" close={() => setIsOpen(false)}>
          <p class="hint">{props.operation.summary}</p>
          <CallText {...props} />
          <form method="dialog">
            <button>Close</button>
          </form>
        </Dialog>
      )}
    </>
  )
}
