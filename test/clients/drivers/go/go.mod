module driver

go 1.19

require holdfast.example/clients/go v0.0.0

replace holdfast.example/clients/go => ../../../../clients/go
