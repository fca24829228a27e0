/** The result of one check. */
export interface CheckResult {
  readonly check: string
  readonly result: 'ok' | 'warning' | 'problem'
  readonly detail: string
  /** What to change. */
  readonly fix?: string
}

export const ok = (check: string, detail: string): CheckResult => ({ check, result: 'ok', detail })

export const warning = (check: string, detail: string, fix: string): CheckResult => ({
  check,
  result: 'warning',
  detail,
  fix,
})

export const problem = (check: string, detail: string, fix: string): CheckResult => ({
  check,
  result: 'problem',
  detail,
  fix,
})

export const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
