/** What is wrong with a configuration: all of it at once, each with the name of its key and never with its value, which may be a secret. */
import { EnactorError } from './errors.ts';

export type ConfigIssue = {
  /** Dotted path, `vswitches.cn-hangzhou-k`; empty when the text as a whole is at fault. */
  readonly key: string;
  readonly why: string;
};

export class ConfigRefused extends EnactorError {
  readonly issues: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[]) {
    super('invalidArgument', `config${issues.map(sentenceOf).join('; config')}`);
    this.issues = issues;
  }
}

const sentenceOf = ({ key, why }: ConfigIssue): string => (key === '' ? ` ${why}` : `: ${key}: ${why}`);
