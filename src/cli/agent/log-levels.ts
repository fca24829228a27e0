/** Log levels, most verbose first. */
export const agentLogLevels = ['debug', 'info', 'warn', 'error', 'crit', 'silent'] as const
