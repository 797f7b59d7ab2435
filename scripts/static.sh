#!/bin/sh
echo "static for $1" >redlock-static-$1
