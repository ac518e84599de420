/** The other end of Terway's tracing service: our daemon's, or Terway's own. */
import {
  type Client,
  type ClientReadableStream,
  credentials,
  makeClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import type { KeyValue, ResourceMappingReply } from '../../core/tracing.ts';
import { tracingService } from './service.ts';

type Callback<Reply> = (error: ServiceError | null, reply: Reply) => void;
type Options = { readonly deadline: number };
type Unary = (request: unknown, options: Options, callback: Callback<unknown>) => void;
type Stub = Client &
  Record<
    'GetResourceTypes' | 'GetResources' | 'GetResourceConfig' | 'GetResourceTrace' | 'GetResourceMapping',
    Unary
  > & {
    ResourceExecute(request: unknown, options: Options): ClientReadableStream<{ Message?: string }>;
  };

export class TracingClient {
  readonly #stub: Stub;
  readonly #timeoutMs: number;

  constructor(socketPath: string, timeoutMs: number) {
    const Constructor = makeClientConstructor(tracingService(), 'TerwayTracing');
    // A daemon that is not there is told at once: whoever typed the command can ask again.
    const options = { 'grpc.enable_retries': 0, 'grpc.default_authority': 'localhost' };
    this.#stub = new Constructor(`unix:${socketPath}`, credentials.createInsecure(), options) as unknown as Stub;
    this.#timeoutMs = timeoutMs;
  }

  async types(): Promise<readonly string[]> {
    return (await this.#ask<{ TypeNames?: string[] }>('GetResourceTypes', {})).TypeNames ?? [];
  }

  async names(type: string): Promise<readonly string[]> {
    return (await this.#ask<{ ResourceNames?: string[] }>('GetResources', { Name: type })).ResourceNames ?? [];
  }

  async config(Type: string, Name: string): Promise<readonly KeyValue[]> {
    return whole((await this.#ask<{ Config?: Partial<KeyValue>[] }>('GetResourceConfig', { Type, Name })).Config);
  }

  async trace(Type: string, Name: string): Promise<readonly KeyValue[]> {
    return whole((await this.#ask<{ Trace?: Partial<KeyValue>[] }>('GetResourceTrace', { Type, Name })).Trace);
  }

  mapping(): Promise<ResourceMappingReply> {
    return this.#ask<ResourceMappingReply>('GetResourceMapping', {});
  }

  async *execute(Type: string, Name: string, Command: string, Args: readonly string[]): AsyncGenerator<string> {
    const stream = this.#stub.ResourceExecute({ Type, Name, Command, Args }, this.#options());
    for await (const { Message = '' } of stream as AsyncIterable<{ Message?: string }>) yield Message;
  }

  close(): void {
    this.#stub.close();
  }

  #options(): Options {
    return { deadline: Date.now() + this.#timeoutMs };
  }

  #ask<Reply>(method: Exclude<keyof Stub, keyof Client | 'ResourceExecute'>, request: unknown): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#stub[method](request, this.#options(), (error, reply) =>
        error === null ? resolve(reply as Reply) : reject(error),
      );
    });
  }
}

/** What is empty does not travel. */
const whole = (entries: readonly Partial<KeyValue>[] = []): readonly KeyValue[] =>
  entries.map(({ Key = '', Value = '' }) => ({ Key, Value }));
