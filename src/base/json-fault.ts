// Node quotes the text around the fault: Unexpected token 'h', ..."secret": hush"... is not valid JSON
const QUOTED = /(?:^|, )(?:\.\.\.)?".*$/s

/** Why a text is not JSON, without quoting the text: it may contain a secret. */
export const jsonFault = (error: unknown): string =>
  (error instanceof Error && error.message.replace(QUOTED, '')) || 'it is not JSON'
