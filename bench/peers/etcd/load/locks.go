// Locks of etcd as in its own library (concurrency.Mutex): one lease for each client, kept alive; a
// key under the lock's name for each request, created in one transaction that also returns the first
// key. A request that is not first waits for the end of the key created right before its own.
//
// The Mutex itself has one key for each lease, so workers that compete would each need a lease of
// their own, and it opens a watch for each wait, from a past revision, which etcd checks only every
// 100 ms. Here each client keeps one watch on all keys of a lock open.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const leaseSeconds = 30

type etcdLocks struct {
	clients []*etcdClient
}

type etcdClient struct {
	etcd  *clientv3.Client
	lease clientv3.LeaseID
	count atomic.Int64
	// Those that wait for the end of a key.
	mutex   sync.Mutex
	waiting map[string]chan struct{}
}

func connect(load load) (locks, error) {
	service := &etcdLocks{}
	for range load.connections {
		etcd, err := clientv3.New(clientv3.Config{Endpoints: load.addresses})
		if err != nil {
			return nil, err
		}
		session, err := concurrency.NewSession(etcd, concurrency.WithTTL(leaseSeconds))
		if err != nil {
			return nil, err
		}
		client := &etcdClient{etcd: etcd, lease: session.Lease(), waiting: map[string]chan struct{}{}}
		if load.isShared {
			if err := client.watch(load.keys[0] + "/"); err != nil {
				return nil, err
			}
		}
		service.clients = append(service.clients, client)
	}
	return service, nil
}

func (s *etcdLocks) acquire(ctx context.Context, worker int, key string) (grant, error) {
	return s.clients[worker%len(s.clients)].acquire(ctx, key)
}

func (c *etcdClient) acquire(ctx context.Context, key string) (grant, error) {
	prefix := key + "/"
	own := fmt.Sprintf("%s%x-%d", prefix, c.lease, c.count.Add(1))
	created, err := c.etcd.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(own), "=", 0)).
		Then(
			clientv3.OpPut(own, "", clientv3.WithLease(c.lease)),
			clientv3.OpGet(prefix, clientv3.WithFirstCreate()...),
		).Commit()
	if err != nil {
		return grant{}, err
	}
	if !created.Succeeded {
		return grant{}, errors.New(own + " existed before")
	}
	revision := created.Header.Revision
	first := created.Responses[1].GetResponseRange().Kvs
	if len(first) == 0 {
		return grant{}, errors.New("etcd has lost " + own)
	}
	if string(first[0].Key) != own {
		if err := c.outlast(ctx, prefix, revision); err != nil {
			return grant{}, err
		}
	}
	release := func(ctx context.Context) (bool, error) {
		deleted, err := c.etcd.Delete(ctx, own)
		if err != nil {
			return false, err
		}
		return deleted.Deleted == 1, nil
	}
	return grant{token: revision, release: release}, nil
}

// outlast returns when no key is left that was created before the revision.
func (c *etcdClient) outlast(ctx context.Context, prefix string, revision int64) error {
	for {
		options := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(revision-1))
		before, err := c.etcd.Get(ctx, prefix, options...)
		if err != nil {
			return err
		}
		if len(before.Kvs) == 0 {
			return nil
		}
		if err := c.deletionOf(ctx, string(before.Kvs[0].Key)); err != nil {
			return err
		}
	}
}

// A waiter is registered first and then asks whether there is anything to wait for.
func (c *etcdClient) deletionOf(ctx context.Context, key string) error {
	deleted := make(chan struct{})
	c.mutex.Lock()
	c.waiting[key] = deleted
	c.mutex.Unlock()
	found, err := c.etcd.Get(ctx, key, clientv3.WithCountOnly())
	if err == nil && found.Count != 0 {
		<-deleted
	}
	c.mutex.Lock()
	delete(c.waiting, key)
	c.mutex.Unlock()
	return err
}

// watch returns when deletions under the prefix are reported.
func (c *etcdClient) watch(prefix string) error {
	options := []clientv3.OpOption{
		clientv3.WithPrefix(), clientv3.WithFilterPut(), clientv3.WithCreatedNotify(),
	}
	responses := c.etcd.Watch(context.Background(), prefix, options...)
	if created, isOpen := <-responses; !isOpen || created.Err() != nil {
		return errors.New("etcd did not open a watch")
	}
	go func() {
		for response := range responses {
			for _, event := range response.Events {
				c.announce(string(event.Kv.Key))
			}
		}
	}()
	return nil
}

func (c *etcdClient) announce(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if deleted, isWaiting := c.waiting[key]; isWaiting {
		close(deleted)
		delete(c.waiting, key)
	}
}
