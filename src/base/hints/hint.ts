import type { Service } from '#base/hints/service.ts'

/** The texts of a page besides the error message. */
export interface Hint {
  readonly title: string
  readonly visitor: string
  /** What the operator of the endpoint can do; absent if they cannot fix it. */
  readonly owner?: string
  /**
   * The command that fixes it. `{name}` becomes ` --name NAME`, or nothing if the name is not trustworthy; `{port}` the
   * port that the agent has reported, or 3000; `{labels}` the labels of the backend.
   */
  readonly command?: string
  /** Instead of both, if the agent has reported the address of its service. */
  readonly forService?: (service: Service) => ServiceHint
  /** Instead of both, if the name is that of an edge which lacks one of these. */
  readonly forEdge?: Readonly<Record<EdgePart, ServiceHint>>
}

/** Without it, an edge forwards nothing. */
export type EdgePart = 'route' | 'backend'

interface ServiceHint {
  readonly owner: string
  readonly command?: string
}

export const RELOAD = 'Reload the page in a moment.'
export const SIGN_IN_AGAIN = 'Open the site again and sign in.'
